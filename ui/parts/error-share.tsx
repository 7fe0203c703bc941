/** An error share: a number, a colour, and a sign for users who do not see the colour. */
import type { JSX } from 'preact';
import { levelOf, signs } from './level.ts';
import { percent } from './format.ts';

export function ErrorShare({ share }: { share: number | null | undefined }): JSX.Element {
  const level = levelOf(share);
  return (
    <span class={`share ${level}`}>
      {signs[level] === '' ? null : <span aria-hidden="true">{signs[level]} </span>}
      {percent(share)}
      {level === 'bad' ? <span class="away"> failing</span> : null}
    </span>
  );
}
