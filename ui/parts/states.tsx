/** The states of a view without full data: loading, empty, incomplete, forbidden, failed. */
import type { ComponentChildren, JSX } from 'preact';
import type { Answer, ApiFailure } from '../api/client.ts';
import type { Asked } from '../state/use-answer.ts';
import { Degraded } from './degraded.tsx';
import { momentText } from './format.ts';
import { openSignIn } from './sign-in.tsx';

export function Note(props: {
  kind: 'plain' | 'warn' | 'bad';
  title: string;
  children?: ComponentChildren;
}): JSX.Element {
  const { kind, title, children } = props;
  return (
    <section class={`note ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <span class="sign" aria-hidden="true">
        {kind === 'bad' ? '✕' : kind === 'warn' ? '!' : 'i'}
      </span>
      <div>
        <strong>{title}</strong>
        {children === undefined ? null : <div class="more">{children}</div>}
      </div>
    </section>
  );
}

export function Loading({ what, cancel }: { what: string; cancel?: (() => void) | undefined }): JSX.Element {
  return (
    <div class="loading" role="status">
      <progress aria-label={`Loading ${what}`} /> <span>Asking the nodes for {what} …</span>
      {cancel ? (
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      ) : null}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <section class="empty" role="status">
      <strong>{title}</strong>
      <div>{children}</div>
    </section>
  );
}

/** The reason why a request failed, with a button that repeats it. */
export function Failed({ failure, again }: { failure: ApiFailure; again?: () => void }): JSX.Element {
  const retry = again ? (
    <button type="button" onClick={again}>
      Try again
    </button>
  ) : null;
  switch (failure.kind) {
    case 'unauthorized':
      return (
        <Note kind="plain" title="Sign in to see this">
          <p>
            The query server wants a bearer token of a subject that is bound to <code>svc-promql-reader</code>.{' '}
            <small>{failure.message}</small>
          </p>
          <button type="button" class="primary" onClick={openSignIn}>
            Sign in
          </button>
        </Note>
      );
    case 'forbidden':
      return (
        <Note kind="warn" title="You may not see this">
          <p>{failure.message}</p>
          <p>
            You need a role that allows what is named above.{' '}
            <button type="button" class="plain" onClick={openSignIn}>
              Another token?
            </button>
          </p>
        </Note>
      );
    default:
      return (
        <Note kind="bad" title={failure.message}>
          {retry}
        </Note>
      );
  }
}

/**
 * The frame of a view around one answer: loading, failed, degraded, stale, or `children` with the data.
 * The previous data stays visible when a later request fails.
 */
export function Shown<T>(props: {
  asked: Asked<T>;
  what: string;
  children: (data: T, answer: Answer<T>) => ComponentChildren;
}): JSX.Element {
  const { asked, what, children } = props;
  const { answer, failure, again, at } = asked;
  if (answer === undefined) return failure ? <Failed failure={failure} again={again} /> : <Loading what={what} />;
  return (
    <>
      {failure ? (
        <Note kind="warn" title={`This is of ${momentText(at, Date.now())}: ${failure.message}`}>
          {failure.kind === 'unauthorized' ? (
            <button type="button" class="primary" onClick={openSignIn}>
              Sign in
            </button>
          ) : (
            <button type="button" onClick={again}>
              Try again
            </button>
          )}
        </Note>
      ) : null}
      <Degraded answer={answer} />
      {children(answer.data, answer)}
    </>
  );
}
