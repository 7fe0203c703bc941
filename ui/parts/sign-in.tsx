/** The dialog that takes a bearer token. */
import type { JSX } from 'preact';
import { setToken } from '../api/client.ts';

const id = 'token-dialog';

export function openSignIn(): void {
  (document.getElementById(id) as HTMLDialogElement | null)?.showModal();
}

export function SignIn(): JSX.Element {
  return (
    <dialog
      id={id}
      aria-labelledby="token-title"
      onClose={(event) => {
        const field = event.currentTarget.querySelector('input')!;
        if (event.currentTarget.returnValue === 'save') setToken(field.value);
        event.currentTarget.returnValue = '';
      }}
    >
      <form method="dialog">
        <h2 id="token-title">Sign in</h2>
        <p>
          Through a port-forward no token is needed. Otherwise give one of a subject that is bound to{' '}
          <code>svc-promql-reader</code>, such as the output of <code>kubectl create token</code>. It is kept for this
          tab only.
        </p>
        <label>
          Bearer token
          <input id="token-value" type="password" autocomplete="off" />
        </label>
        <div class="row end">
          {/* Not a submit button: Enter in the field presses the first submit button. */}
          <button type="button" onClick={(event) => event.currentTarget.closest('dialog')!.close()}>
            Cancel
          </button>
          <button type="submit" value="save" class="primary">
            Save
          </button>
        </div>
      </form>
    </dialog>
  );
}
