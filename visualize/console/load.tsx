/** Files loaded into a branch, or into a pool that is made for them: progress, cancel, and the place of a fault in the file. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { PoolInfo } from '../../src/client/client.ts';
import { mediaTypes } from '../../src/client/query.ts';
import { curlName, curlOf } from './action.ts';
import { useNote } from './changes.tsx';
import { shellWord } from './curl.ts';
import { arrayElements, type FaultLine, faultPlace, type FileFacts, likelyKey, linesAt, lookInto } from './file-text.ts';
import { branches, pools, refresh } from './lake.ts';
import { CopyLine, Dialog, Field, Icon, Id, Name, tell } from './parts.tsx';
import { keysOf } from './pool-dialogs.tsx';
import { go, link, route } from './route.ts';
import { client, may } from './session.ts';
import { bytes, count, counted, duration, faultText, visible } from './text.ts';
import { newId, upload, UploadFailure, UploadLost, type UploadState } from './upload.ts';

interface Item {
  readonly file: File;
  readonly facts: FileFacts | undefined;
  readonly state: 'waiting' | 'preparing' | 'loading' | 'done' | 'failed' | 'cancelled';
  readonly progress?: UploadState;
  readonly commit?: string;
  readonly fault?: string;
  readonly hint?: string | undefined;
  readonly lines?: readonly FaultLine[] | undefined;
  readonly ms?: number;
  /** Of a try whose end is not known: its key, and what was asked for by it. */
  readonly lost?: { readonly onceKey: string; readonly request: string } | undefined;
}
const formats = [['', 'Found out by the service'], ['json', 'JSON, NDJSON'], ['csv', 'CSV'], ['tsv', 'TSV'], ['sup', 'SUP'], ['jsup', 'JSUP'], ['bsup', 'BSUP'], ['csup', 'CSUP'], ['parquet', 'Parquet'], ['arrows', 'Arrow IPC stream'], ['zeek', 'Zeek'], ['line', 'Lines of text']] as const;
const states: Readonly<Record<string, string>> = { waiting: 'Waiting for its turn', receiving: 'Reading', sorting: 'Sorting', writing: 'Writing', committing: 'Committing' };

export interface LoadProps { readonly pool?: PoolInfo; readonly branch?: string; readonly files: readonly File[]; readonly onClose: () => void }

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

  const loadOne = async (index: number, into: PoolInfo, to: string): Promise<void> => {
    const { file, facts } = items.value[index]!, began = performance.now(), split = (facts?.isArray ?? false) && asElements;
    update(index, { state: split ? 'preparing' : 'loading', fault: undefined, lines: undefined, progress: undefined } as Partial<Item>);
    let body: Blob = file;
    const mediaType = format !== '' ? mediaTypes[format as keyof typeof mediaTypes] : split ? mediaTypes.json : mediaTypeOf(file.name), separator = format === 'csv' || (format === '' && /\.csv(\.gz)?$/i.test(file.name)) ? delimiter : '';
    const request = JSON.stringify([into.id, to, split, mediaType, separator, note.author, note.message]), { lost } = items.value[index]!, onceKey = lost?.request === request ? lost.onceKey : newId();
    try {
      if (split) body = await arrayElements(file);
      update(index, { state: 'loading' });
      const { done, cancel } = upload({
        pool: into, branch: to, body, gzip: (facts?.gzip ?? false) && !split, delimiter: separator, mediaType, onceKey, note: { ...(note.author !== '' && { author: note.author }), ...(note.message !== '' && { body: note.message }) },
      }, (progress) => { update(index, { progress }); });
      running.current = cancel;
      const commit = await done;
      update(index, { state: 'done', commit, ms: performance.now() - began });
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') {
        update(index, { state: 'cancelled' });
        return;
      }
      const fault = faultText(error), place = faultPlace(fault);
      update(index, { state: 'failed', fault, lost: error instanceof UploadLost ? { onceKey, request } : undefined, hint: error instanceof UploadFailure ? error.hint : undefined });
      // Where the file was made into values, lines are others: the byte tells.
      if (place) update(index, { lines: await linesAt(file, split && place.byte !== undefined ? { byte: place.byte } : place) });
    } finally {
      running.current = undefined;
    }
  };
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
      for (let index = 0; index < items.value.length; index++) if (items.value[index]!.state !== 'done') await loadOne(index, into!, to);
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
  const first = items.value[0], file = first?.file.name ?? 'FILE', piped = (first?.facts?.isArray ?? false) && asElements;
  const curl = curlOf({
    method: 'POST', path: ['pool', pool ? curlName(pool) : name || 'POOL', 'branch', isNew ? 'main' : branch], headers: { ...note.headers, 'Content-Type': format !== '' ? mediaTypes[format as keyof typeof mediaTypes] : piped ? mediaTypes.json : mediaTypeOf(file) || '*/*', ...(first?.facts?.gzip && !piped && { 'Content-Encoding': 'gzip' }) },
    ...(delimiter !== '' && { query: { 'csv.delim': delimiter } }), file,
  });
  const loadText = piped ? `${first!.facts!.gzip ? 'gzip -dc' : 'jq -c \'.[]\''} ${shellWord(file.startsWith('-') ? `./${file}` : file)} | ${first!.facts!.gzip ? 'jq -c \'.[]\' | ' : ''}${curl.slice(0, curl.lastIndexOf(' < '))}` : curl;
  const curlText = isNew ? `${curlOf({ method: 'POST', path: ['pool'], json: { name: name || 'POOL', layout: { order: 'desc', keys: keysOf(keyNow) } } })} && ${loadText}` : loadText;
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
      {items.value.length > 0 && <CopyLine text={curlText} />}
    </Dialog>
  );
};

/** A name for the pool of a file. */
export const poolNameOf = (file: string): string => visible(file.replace(/\.gz$/i, '').replace(/\.[A-Za-z0-9]{1,8}$/, ''), 60);
/** By the name's ending where content can be taken for something else. */
const mediaTypeOf = (name: string): string => {
  const ending = /\.(csv|tsv|json|ndjson|jsonl|parquet|sup|bsup|csup|jsup|zeek)(\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  if (ending === undefined) return '';
  return ending === 'ndjson' || ending === 'jsonl' ? mediaTypes.json : mediaTypes[ending as keyof typeof mediaTypes];
};

const FileRow = ({ item, onRemove }: { readonly item: Item; readonly onRemove?: () => void }) => {
  const { file, state, progress, commit, fault, hint, lines, ms, lost } = item, service = progress?.progress;
  const share = progress && progress.total > 0 ? progress.sent / progress.total : 0, sending = state === 'loading' && share < 1;
  const text = state === 'waiting' ? bytes(file.size) : state === 'preparing' ? 'Taking the array apart' : state === 'cancelled' ? 'Cancelled: nothing was loaded' : state === 'failed' ? (lost ? 'Not known whether it was loaded' : 'Failed: nothing was loaded')
    : state === 'done' ? `${service ? `${counted(service.records, 'record')}, ` : ''}${bytes(file.size)} in ${duration(ms!)}`
      : `${sending ? `Sent ${Math.floor(share * 100)} %` : states[service?.state ?? 'receiving'] ?? 'Working'}${service && service.records > 0 ? `, ${counted(service.records, 'record')}` : ''}${service && service.recordsPerSecond > 0 ? `, ${count(Math.round(service.recordsPerSecond))} a second` : ''}`;
  return (
    <li class={`file ${state}`}>
      <div class="file-head"><strong><Name text={file.name} max={80} /></strong><span class="soft" {...(state !== 'loading' && { role: 'status' })}>{text}{commit !== undefined && <> · commit <Id id={commit} /></>}</span>{onRemove && <button type="button" class="quiet" onClick={onRemove} aria-label={`Leave out ${visible(file.name, 80)}`}><Icon name="close" /></button>}</div>
      {(state === 'loading' || state === 'preparing') && <progress max={1} {...(sending && state === 'loading' && { value: share })} aria-label={`Load of ${visible(file.name, 80)}`} />}
      {fault !== undefined && <p class="fault" role="alert">{visible(fault, 2000)}{hint !== undefined && <><br />{visible(hint, 500)}</>}</p>}
      {lines && (
        <figure class="fault-place"><figcaption class="soft">In the file</figcaption>
          <pre tabIndex={0} aria-label="The text around the fault">{lines.map((line, i) => <FaultText key={i} line={line} />)}</pre>
        </figure>
      )}
    </li>
  );
};
const FaultText = ({ line: { number, text, isFault, at } }: { readonly line: FaultLine }) => {
  const mark = useRef<HTMLElement>(null);
  // In a narrow window a long line shows the fault, not its beginning.
  useEffect(() => { mark.current?.scrollIntoView({ block: 'nearest', inline: 'center' }); }, []);
  const before = at === undefined ? '' : text.slice(0, at), there = at === undefined ? '' : [...text.slice(at)][0] ?? ' ', after = at === undefined ? text : text.slice(at + there.length);
  return (
    <span class={`fault-line${isFault ? ' is-fault' : ''}`}><span class="line-number" aria-hidden="true">{number ?? ''}</span><bdi>{at === undefined ? visible(after, 200) : <>{visible(before, 200)}<mark ref={mark}>{visible(there)}</mark>{visible(after, 200)}</>}</bdi>{'\n'}</span>
  );
};
