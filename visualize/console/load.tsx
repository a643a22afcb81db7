/** Files loaded into a branch, or into a pool that is made for them: progress, cancel, and the place of a fault in the file. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { PoolInfo } from '../../src/client/client.ts';
import { useNote } from './changes.tsx';
import { FileRow } from './file-row.tsx';
import { type FileFacts, likelyKey, lookInto } from './file-text.ts';
import { branches, pools, refresh } from './lake.ts';
import { type Item, type LoadOptions, loadFile, loadLine } from './load-file.ts';
import { CopyLine, Dialog, Field, Icon, tell } from './parts.tsx';
import { keysOf } from './pool/dialogs.tsx';
import { go, link, route } from './route.ts';
import { client, may } from './session.ts';
import { counted, faultText, visible } from './text.ts';

const formats = [['', 'Found out by the service'], ['json', 'JSON, NDJSON'], ['csv', 'CSV'], ['tsv', 'TSV'], ['sup', 'SUP'], ['jsup', 'JSUP'], ['bsup', 'BSUP'], ['csup', 'CSUP'], ['parquet', 'Parquet'], ['arrows', 'Arrow IPC stream'], ['zeek', 'Zeek'], ['line', 'Lines of text']] as const;

/** Where the files go, if that is settled, and the files to begin with. */
export interface LoadProps { readonly pool?: PoolInfo; readonly branch?: string; readonly files: readonly File[]; readonly onClose: () => void }

/** The dialog that loads files, one after the other, a commit each. */
export const Load = ({ pool: given, branch: givenBranch, files, onClose }: LoadProps) => {
  const items = useSignal<readonly Item[]>(files.map((file) => ({ file, facts: undefined, state: 'waiting' }))), running = useRef<(() => void) | undefined>(undefined);
  const [busy, setBusy] = useState(false), [started, setStarted] = useState(false);
  const writable = pools.value.filter((p) => may('writer', p)), mayMake = may('writer');
  const [target, setTarget] = useState(given?.id ?? (writable.length > 0 && !mayMake ? writable[0]!.id : '')), [branch, setBranch] = useState(givenBranch ?? 'main');
  const [name, setName] = useState(files[0] ? poolNameOf(files[0].name) : ''), [key, setKey] = useState<string | undefined>(undefined), [format, setFormat] = useState<string>(''), [delimiter, setDelimiter] = useState(''), [asOne, setAsOne] = useState(false);
  const note = useNote(), picker = useRef<HTMLInputElement>(null), isNew = target === '', pool = pools.value.find((p) => p.id === target), fields = items.value[0]?.facts?.fields ?? [];
  const keyNow = key ?? likelyKey(fields), hasArray = items.value.some((i) => i.facts?.isArray) && (format === '' || format === 'json'), asElements = hasArray && !asOne;
  const update = (index: number, change: Partial<Item>): void => { items.value = items.value.map((item, i) => (i === index ? { ...item, ...change } : item)); };
  const add = (more: readonly File[]): void => {
    items.value = [...items.value, ...more.map((file): Item => ({ file, facts: undefined, state: 'waiting' }))];
    if (name === '' && more[0]) setName(poolNameOf(more[0].name));
  };
  const unknown = items.value.findIndex((i) => i.facts === undefined);
  useEffect(() => {
    if (unknown < 0) return;
    const { file } = items.value[unknown]!;
    void lookInto(file).catch((): FileFacts => ({ gzip: false, isArray: false, fields: [] })).then((facts) => { items.value = items.value.map((item) => (item.file === file ? { ...item, facts } : item)); });
  }, [unknown, items.value.length]);
  useEffect(() => () => { running.current?.(); }, []);
  const taken = isNew && pools.value.some((p) => p.name === name), all = pool ? branches(pool) : [];
  const ready = items.value.length > 0 && !busy && items.value.some((i) => i.state === 'waiting' || i.state === 'failed' || i.state === 'cancelled') && (isNew ? name !== '' && !taken && keysOf(keyNow).length > 0 : pool !== undefined) && unknown < 0;

  const options: LoadOptions = { format, delimiter, asElements, author: note.author, message: note.message };
  const submit = async (): Promise<void> => {
    setBusy(true);
    setStarted(true);
    try {
      let into = pool, to = branch;
      if (isNew) {
        await client.createPool(name, { keys: keysOf(keyNow), order: 'desc' });
        await refresh();
        into = pools.value.find((p) => p.name === name) ?? (await client.pools()).find((p) => p.name === name)!;
        to = 'main';
        setTarget(into.id);
        setBranch('main');
      }
      for (let index = 0; index < items.value.length; index++) if (items.value[index]!.state !== 'done') await loadFile(items.value[index]!, { pool: into!, branch: to }, options, { update: (change) => { update(index, change); }, running: (cancel) => { running.current = cancel; } });
      void refresh();
      if (items.value.every((i) => i.state === 'done')) tell(`Loaded ${counted(items.value.length, 'file')} into ${visible(into!.name, 60)}.`);
    } catch (error) {
      tell(faultText(error), true);
    } finally {
      setBusy(false);
    }
  };
  const allDone = started && !busy && items.value.length > 0 && items.value.every((i) => i.state === 'done');
  const finish = (): void => {
    onClose();
    if (pool && (route.peek().path[0] !== 'pool' || given === undefined)) go(link(['pool', pool.name.length <= 80 ? pool.name : pool.id]));
  };
  return (
    <Dialog title="Load data" wide onClose={() => { running.current?.(); onClose(); }} onSubmit={() => { if (allDone) finish(); else if (ready) void submit(); }}
      actions={<>
        {!allDone && <button type="button" onClick={() => { if (busy) running.current?.(); else onClose(); }}>{busy ? 'Cancel load' : 'Close'}</button>}
        {allDone ? <button type="submit" class="main">Show the pool</button> : <button type="submit" class="main" disabled={!ready}>{busy ? 'Loading…' : `Load ${items.value.length > 1 ? counted(items.value.length, 'file') : 'file'}`}</button>}
      </>}>
      <div class="drop-place" onDragOver={(e) => { e.preventDefault(); }} onDrop={(e) => { e.preventDefault(); e.stopPropagation(); if (!busy) add([...(e.dataTransfer?.files ?? [])]); }}>
        {items.value.length === 0 ? <p><strong>Drop files here</strong> <span class="soft">or</span></p> : <ul class="files">{items.value.map((item, i) => <FileRow key={`${i} ${item.file.name}`} item={item} {...(item.state === 'waiting' && !busy && { onRemove: () => { items.value = items.value.filter((_, at) => at !== i); } })} />)}</ul>}
        <button type="button" disabled={busy} data-first onClick={() => picker.current?.click()}><Icon name="upload" />{items.value.length === 0 ? 'Choose files' : 'Add files'}</button>
        <input ref={picker} class="hidden-text" type="file" multiple aria-label="Files to load" tabIndex={-1} onChange={(e) => { add([...(e.currentTarget.files ?? [])]); e.currentTarget.value = ''; }} />
      </div>
      {given === undefined && (
        <Field label="Into">{(props) => <select {...props} value={target} disabled={busy || started} onChange={(e) => { setTarget(e.currentTarget.value); setBranch('main'); }}>{mayMake && <option value="">A new pool</option>}{writable.map((p) => <option key={p.id} value={p.id}>{visible(p.name, 80)}</option>)}</select>}</Field>
      )}
      {isNew ? (
        <div class="field-row">
          <Field label="Name of the pool">{(props) => <input {...props} value={name} disabled={busy} autocomplete="off" spellcheck={false} onInput={(e) => { setName(e.currentTarget.value); }} />}</Field>
          <Field label="Key" hint="Records are kept in the order of this field.">{(props) => <><input {...props} class="mono" value={keyNow} disabled={busy} list="likely-keys" autocomplete="off" spellcheck={false} onInput={(e) => { setKey(e.currentTarget.value); }} /><datalist id="likely-keys">{fields.map((f) => <option key={f} value={f} />)}</datalist></>}</Field>
        </div>
      ) : <Field label="Branch">{(props) => <select {...props} value={branch} disabled={busy} onChange={(e) => { setBranch(e.currentTarget.value); }}>{all.map((b) => <option key={b.name} value={b.name}>{visible(b.name, 80)}</option>)}</select>}</Field>}
      {taken && <p class="fault" role="alert">There is a pool of this name already.</p>}
      <div class="field-row">
        <Field label="Format">{(props) => <select {...props} value={format} disabled={busy} onChange={(e) => { setFormat(e.currentTarget.value); }}>{formats.map(([id, text]) => <option key={id} value={id}>{text}</option>)}</select>}</Field>
        {(format === 'csv' || (format === '' && items.value.some((i) => /\.csv(\.gz)?$/i.test(i.file.name)))) && <Field label="Delimiter">{(props) => <input {...props} class="mono" value={delimiter} maxLength={1} placeholder="," disabled={busy} onInput={(e) => { setDelimiter(e.currentTarget.value); }} />}</Field>}
      </div>
      {hasArray && <label class="check"><input type="checkbox" checked={!asOne} disabled={busy} onChange={(e) => { setAsOne(!e.currentTarget.checked); }} />Each element of the JSON array is a record</label>}
      {note.fields}
      {items.value.length > 0 && <CopyLine text={loadLine(items.value[0], { pool, branch, name, key: keyNow }, { ...options, headers: note.headers })} />}
    </Dialog>
  );
};

/** A name for the pool of a file. */
export const poolNameOf = (file: string): string => visible(file.replace(/\.gz$/i, '').replace(/\.[A-Za-z0-9]{1,8}$/, ''), 60);
