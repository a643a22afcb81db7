/** The fields of dialogs: inputs with their labels and hints. */
import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { Icon } from './parts.tsx';

/** An input with its label and hint; `children` draws the input with what ties them together. */
export const Field = ({
  label,
  hint,
  children,
}: {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly children: (props: { readonly id: string; readonly 'aria-describedby'?: string }) => ComponentChildren;
}) => {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...(hint !== undefined && { 'aria-describedby': `${id}-hint` }) })}
      {hint !== undefined && (
        <p class="hint soft" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
};

interface TextFieldProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly value: string;
  readonly onValue: (value: string) => void;
}
/** The text that a dialog begins with: it has the focus, and the browser neither completes nor corrects it. */
export const TextField = ({ label, hint, value, onValue }: TextFieldProps) => (
  <Field label={label} hint={hint}>
    {(props) => (
      <input
        {...props}
        data-first
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(e) => {
          onValue(e.currentTarget.value);
        }}
      />
    )}
  </Field>
);

/** A name that must be new. `taken` says what has it already, such as "a pool". */
export const NewNameField = ({
  label = 'Name',
  taken,
  ...text
}: Omit<TextFieldProps, 'label'> & { readonly label?: string; readonly taken: string | undefined }) => (
  <>
    <TextField label={label} {...text} />
    {taken !== undefined && (
      <p class="fault" role="alert">
        There is {taken} of this name already.
      </p>
    )}
  </>
);

/** What cannot be undone is confirmed by typing a word. */
export const ConfirmField = ({
  word,
  ...text
}: Pick<TextFieldProps, 'value' | 'onValue'> & { readonly word: string }) => (
  <TextField
    label={
      <>
        Type{' '}
        <strong class="mono">
          <bdi>{word}</bdi>
        </strong>{' '}
        to confirm
      </>
    }
    {...text}
  />
);

/** Where files are dropped or chosen; `children` lists those that are there, if any are. */
export const FilePlace = ({
  busy,
  empty,
  onFiles,
  children,
}: {
  readonly busy: boolean;
  readonly empty: boolean;
  readonly onFiles: (files: readonly File[]) => void;
  readonly children: ComponentChildren;
}) => {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <div
      class="drop-place"
      onDragOver={(e) => {
        e.preventDefault();
      }}
      onDrop={(e) => {
        e.preventDefault();
        e.stopPropagation();
        if (!busy) onFiles([...(e.dataTransfer?.files ?? [])]);
      }}
    >
      {empty ? (
        <p>
          <strong>Drop files here</strong> <span class="soft">or</span>
        </p>
      ) : (
        <ul class="files">{children}</ul>
      )}
      <button type="button" disabled={busy} data-first onClick={() => picker.current?.click()}>
        <Icon name="upload" />
        {empty ? 'Choose files' : 'Add files'}
      </button>
      <input
        ref={picker}
        class="hidden-text"
        type="file"
        multiple
        aria-label="Files to load"
        tabIndex={-1}
        onChange={(e) => {
          onFiles([...(e.currentTarget.files ?? [])]);
          e.currentTarget.value = '';
        }}
      />
    </div>
  );
};
