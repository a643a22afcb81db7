/** What one sees before one may see anything: the way in, or why there is none. */
import { useEffect, useState } from 'preact/hooks';
import { nextTheme, theme } from '../shared/theme.ts';
import { Field } from './fields.tsx';
import { Fault, Icon } from './parts.tsx';
import { session, signIn, startSession } from './session.ts';
import { visible } from './text.ts';

const Corner = () => (
  <button
    type="button"
    class="quiet corner"
    onClick={nextTheme}
    aria-label={`Theme: ${theme.value}`}
    title={`Theme: ${theme.value}`}
  >
    <Icon name="theme" />
  </button>
);

/** Asks for a key or token; shown while there is access control and no session. */
export const LoginPage = () => {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const { value } = session;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (token.trim() === '') return;
    setBusy(true);
    await signIn(token.trim());
    setBusy(false);
  };
  return (
    <main class="alone">
      <Corner />
      <form
        class="panel card"
        onSubmit={(e) => {
          void submit(e);
        }}
      >
        <h1>Sign in to the lake</h1>
        <Field
          label="Key or token"
          hint={
            <>
              A key begins with <code>lake_</code>; <code>lake key add</code> makes one. It is changed for a session
              cookie and kept nowhere in this browser.
            </>
          }
        >
          {(props) => (
            <input
              {...props}
              type="password"
              autocomplete="off"
              spellcheck={false}
              autofocus
              value={token}
              onInput={(e) => {
                setToken(e.currentTarget.value);
              }}
            />
          )}
        </Field>
        <Fault text={value.kind === 'login' ? value.fault : undefined} />
        <button type="submit" class="main" disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  );
};

const retryMs = 2000;
/** Says that there is no service, and tries again every two seconds. */
export const UnreachablePage = () => {
  const { value } = session;
  // It goes on by itself once the service is there.
  useEffect(() => {
    const timer = setTimeout(() => {
      void startSession();
    }, retryMs);
    return () => {
      clearTimeout(timer);
    };
  }, [value]);
  return (
    <main class="alone">
      <Corner />
      <div class="panel card" role="alert">
        <h1>The service cannot be reached</h1>
        <p class="soft">{value.kind === 'unreachable' ? visible(value.fault) : ''} It is tried again by itself.</p>
        <button
          type="button"
          class="main"
          onClick={() => {
            session.value = { kind: 'starting' };
            void startSession();
          }}
        >
          Try again
        </button>
      </div>
    </main>
  );
};
