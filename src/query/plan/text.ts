/** A plan as text, one operator a line, what is inside it indented: what the rules' cases compare. */
import { quoteName, quoteText, typeText } from '../../vectors/type.ts';
import { supText } from '../../vectors/sup/print.ts';
import { sqlTypeText } from '../sql/values/types.ts';
import { bodyIn, exprsOf, partsOf, pathOf } from './walk.ts';
import type { Aggregate, FieldPath, Pipeline, Plan, PlanExpr, PlanOp, Pruner, SortKey, WindowFrame } from './plan.ts';

/** A line of a plan's text: of an operator, or of a place inside of one. */
interface PlanLine {
  readonly text: string;
  readonly op?: PlanOp;
}

/** The text of a plan, a newline behind each line. */
export const planText = (plan: Plan): string =>
  [...functionLines(plan), ...pipelineLines(plan.pipeline, '', inside())].map(({ text }) => `${text}\n`).join('');
/** The lines of the text with their operators, those of subqueries besides. */
export const planLines = (plan: Plan): readonly PlanLine[] => [
  ...functionLines(plan),
  ...pipelineLines(plan.pipeline, '', inside(subqueriesIn)),
];

const functionLines = ({ functions }: Plan): PlanLine[] =>
  functions.map((f, i) => ({ text: `fn #${i} ${f.name}(${f.parameters.join(',')}): ${exprText(f.body)}` })).reverse();

/** What is shown of an operator beside its own pipelines. */
interface Inside {
  readonly subqueriesOf: (op: PlanOp) => readonly Pipeline[];
  /** Tables whose body stands further up: it runs once. */
  readonly shown: Set<number>;
}
const inside = (subqueriesOf: Inside['subqueriesOf'] = () => []): Inside => ({ subqueriesOf, shown: new Set() });
/** The subqueries in an operator's expressions. */
const subqueriesIn: Inside['subqueriesOf'] = (op) => {
  const found: Pipeline[] = [];
  const look = (e: PlanExpr): void => {
    if (e.kind === 'subquery') found.push(e.body);
    if (e.kind === 'apply') found.push(e.body.pipeline);
    partsOf(e).forEach(look);
    const body = bodyIn(e);
    if (body) look(body);
  };
  exprsOf(op).forEach(look);
  return found;
};

const pipelineLines = (pipeline: Pipeline, indent: string, inner: Inside): PlanLine[] =>
  pipeline.ops.flatMap((op) => opLines(op, indent, inner));

const opLines = (op: PlanOp, indent: string, also: Inside): PlanLine[] => {
  const head: PlanLine = { text: `${indent}${opText(op)}`, op };
  const inner = `${indent}  `;
  const bodies = (label: string, list: readonly Pipeline[]): PlanLine[] =>
    list.flatMap((p) => [{ text: `${inner}${label}` }, ...pipelineLines(p, `${inner}  `, also)]);
  return [head, ...partLines(op, bodies, also), ...bodies('subquery', also.subqueriesOf(op))];
};

const partLines = (
  op: PlanOp,
  bodies: (label: string, list: readonly Pipeline[]) => PlanLine[],
  { shown }: Inside,
): PlanLine[] => {
  switch (op.kind) {
    case 'fork':
    case 'combine':
      return bodies('branch', op.branches);
    case 'switch':
      return op.cases.flatMap((c) => bodies(c.test ? `case ${exprText(c.test)}` : 'default', [c.branch]));
    case 'join':
    case 'setOperation':
      return op.right ? bodies('right', [op.right]) : [];
    case 'recursive':
      return [...bodies('first', [op.first]), ...bodies('next', [op.next])];
    case 'shared':
      if (shown.has(op.id)) return [];
      shown.add(op.id);
      return bodies('once', [op.body]);
    case 'lateral':
      return bodies(op.body.mode, [op.body.pipeline]);
    case 'unnest':
      return op.into ? bodies('into', [op.into]) : [];
    default:
      return [];
  }
};

const opText = (op: PlanOp): string => {
  switch (op.kind) {
    case 'scan':
      return scanText(op);
    case 'null':
    case 'empty':
    case 'pass':
    case 'fuse':
    case 'fork':
    case 'combine':
      return op.kind;
    case 'values':
      return `values ${op.exprs.map(exprText).join(', ')}`;
    case 'filter':
    case 'shapes':
    case 'assert':
    case 'debug':
    case 'unnest':
    case 'fromEach':
      return `${op.kind} ${exprText(op.expr)}`;
    case 'cut':
    case 'put':
      return `${op.kind} ${op.assignments.map((a) => `${pathText(a.target)}:=${exprText(a.value)}`).join(', ')}`;
    case 'rename':
      return `rename ${op.assignments.map((a) => `${pathText(a.to)}:=${pathText(a.from)}`).join(', ')}`;
    case 'drop':
      return `drop ${op.paths.map(pathText).join(', ')}`;
    case 'head':
    case 'tail':
    case 'skip':
      return `${op.kind} ${op.count}`;
    case 'distinct':
      return words('distinct', exprText(op.expr), op.order ? `in order ${keysText(op.order)}` : '');
    case 'sort':
      return words(
        'sort',
        op.reverse ? '-r' : '',
        keysText(op.keys),
        op.groupKeys === undefined ? '' : `first by ${op.groupKeys}`,
      );
    case 'top':
      return words('top', op.reverse ? '-r' : '', String(op.count), keysText(op.keys));
    case 'merge':
      return `merge ${keysText(op.keys)}`;
    case 'uniq':
      return op.withCount ? 'uniq -c' : 'uniq';
    case 'count':
      return words('count', op.expr ? exprText(op.expr) : '', `as ${quoteName(op.field)}`);
    case 'output':
      return `output ${op.channel}`;
    case 'load':
      return `load ${op.target.name}`;
    case 'changeRows':
      return `${op.verb} ${op.target.name}`;
    case 'changeView':
      return words(op.change.action, 'view', op.change.name, op.change.action === 'rename' ? `to ${op.change.to}` : '');
    case 'switch':
      return words('switch', op.dropMissing ? `unless missing ${exprText(op.dropMissing)}` : '');
    case 'join':
      return words(
        op.style,
        op.nullAware ? 'null-aware' : '',
        op.firstOnly ? 'first' : '',
        op.kept ? 'kept' : '',
        op.loose ? 'loose' : '',
        'join',
        `as {${op.leftName},${op.rightName}}`,
        op.equal.length > 0 ? `on ${op.equal.map((k) => `${exprText(k.left)}=${exprText(k.right)}`).join(', ')}` : '',
        op.residual ? `if ${exprText(op.residual)}` : '',
        op.leftFirst === undefined ? '' : `left first (${op.leftFirst} rows at most)`,
        op.leftColumns ? `left columns (${op.leftColumns.map(pathText).join(', ')})` : '',
        op.rightColumns ? `right columns (${op.rightColumns.map(pathText).join(', ')})` : '',
      );
    case 'window':
      return words(
        'window',
        op.groups
          .map((g) =>
            words(
              g.calls
                .map(
                  (c) =>
                    `${c.target}:=${c.name}(${c.distinct ? 'distinct ' : ''}${c.arguments.map(exprText).join(',')})${c.where ? ` filter (${exprText(c.where)})` : ''}${frameText(c.frame)}`,
                )
                .join(', '),
              g.partition.length > 0 ? `by ${g.partition.map(exprText).join(', ')}` : '',
              g.order.length > 0 ? `order ${keysText(g.order)}` : '',
            ),
          )
          .join('; '),
        `of ${op.row}`,
        op.leaders ? `first ${op.leaders.count}` : '',
      );
    case 'setOperation':
      return words(op.operator, op.all ? 'all' : '');
    case 'recursive':
      return words('recursive', op.distinct ? 'distinct' : '', op.name);
    case 'working':
      return 'working';
    case 'shared':
      return `shared ${quoteName(op.name)}`;
    case 'lateral':
      return words(
        op.style,
        'lateral',
        `as {${op.leftName},${op.rightName}}`,
        `of ${op.outer.map(exprText).join(', ')}`,
        op.residual ? `if ${exprText(op.residual)}` : '',
      );
    case 'groupSlice':
      return words(
        'slice',
        `by ${exprText(op.group)}`,
        op.skip > 0 ? `skip ${op.skip}` : '',
        op.count !== undefined ? `count ${op.count}` : '',
      );
    case 'aggregate':
      return words(
        'aggregate',
        op.aggregates.map((a) => `${pathText(a.target)}:=${aggregateText(a.aggregate)}`).join(', '),
        op.keys.length > 0 ? `by ${op.keys.map((k) => `${pathText(k.target)}:=${exprText(k.expr)}`).join(', ')}` : '',
        op.sortedBy ? `sorted ${op.sortedBy}` : '',
      );
  }
};
const frameText = ({ unit, start, end, exclude }: WindowFrame): string => {
  const edge = (e: WindowFrame['start']): string => ('offset' in e ? `${supText(e.offset)} ${e.kind}` : e.kind);
  return unit === 'range' && start.kind === 'unbounded' && end.kind === 'current' && exclude === 'none'
    ? ''
    : ` ${unit} ${edge(start)}..${edge(end)}${exclude === 'none' ? '' : ` without ${exclude}`}`;
};
const words = (...list: readonly string[]): string => list.filter((w) => w !== '').join(' ');

const scanText = (scan: PlanOp & { readonly kind: 'scan' }): string =>
  words(
    'scan',
    scan.sources.map((s) => s.name).join(', '),
    scan.columns ? `columns (${scan.columns.map(pathText).join(', ')})` : '',
    scan.filter ? `filter ${exprText(scan.filter)}` : '',
    scan.pruner ? `prune ${prunerText(scan.pruner)}` : '',
    scan.limit !== undefined ? `limit ${scan.limit}` : '',
    scan.ordered ? '' : 'unordered',
  );

const prunerText = (p: Pruner): string =>
  p.kind === 'test'
    ? `${pathText(p.test.path)}${p.test.operator}${supText(p.test.value)}`
    : `(${p.of.map(prunerText).join(p.kind === 'all' ? ' and ' : ' or ')})`;

const aggregateText = (a: Aggregate): string =>
  `${a.name}(${a.distinct ? 'distinct ' : ''}${a.argument ? exprText(a.argument) : ''})${a.where ? ` filter (${exprText(a.where)})` : ''}`;

const pathText = (path: FieldPath): string => (path.length === 0 ? 'this' : path.map(quoteName).join('.'));
const keysText = (keys: readonly SortKey[]): string => keys.map(keyText).join(', ');
const keyText = (k: SortKey): string =>
  words(exprText(k.expr), k.order === 'desc' ? 'desc' : '', k.nulls === 'first' ? 'nulls first' : '');

/** Constants that were worked out, such as the elements of a range, may have many values. */
const constantTextMax = 400;
const shortened = (text: string): string =>
  text.length <= constantTextMax
    ? text
    : `${text.slice(0, constantTextMax)}... (${text.length - constantTextMax} characters more)`;

/** The text of an expression: parentheses around every operator inside another. */
export const exprText = (e: PlanExpr): string => {
  const path = pathOf(e);
  if (path) return pathText(path);
  const inner = (x: PlanExpr): string => (isOperator(x) ? `(${exprText(x)})` : exprText(x));
  const args = (list: readonly PlanExpr[]): string => list.map(exprText).join(',');
  switch (e.kind) {
    case 'literal':
      return shortened(supText(e.value));
    case 'this':
      return 'this';
    case 'field':
      return `${inner(e.of)}.${quoteName(e.name)}`;
    case 'index':
      return `${inner(e.of)}[${exprText(e.at)}]${e.base === 1 ? '@1' : ''}`;
    case 'slice':
      return `${inner(e.of)}[${e.from ? exprText(e.from) : ''}:${e.to ? exprText(e.to) : ''}]${e.base === 1 ? '@1' : ''}`;
    case 'negate':
      return `-${inner(e.operand)}`;
    case 'not':
      return `!${inner(e.operand)}`;
    case 'and':
    case 'or':
      return `${inner(e.left)} ${e.kind} ${inner(e.right)}`;
    case 'arithmetic':
    case 'compare':
      return `${inner(e.left)}${e.operator}${inner(e.right)}`;
    case 'concat':
      return `${inner(e.left)}||${inner(e.right)}`;
    case 'in':
      return `${inner(e.left)} in ${inner(e.right)}`;
    case 'like':
      return `${inner(e.operand)} ${e.caseless ? 'i' : ''}like ${quoteText(e.pattern)}`;
    case 'match':
      return `${inner(e.operand)}~${quoteText(e.pattern)}`;
    case 'isNull':
      return `${inner(e.operand)} is null`;
    case 'conditional':
      return `${inner(e.test)} ? ${inner(e.then)} : ${inner(e.otherwise)}`;
    case 'case':
      return words(
        'case',
        e.operand ? exprText(e.operand) : '',
        ...e.branches.map((b) => `when ${exprText(b.when)} then ${exprText(b.then)}`),
        e.otherwise ? `else ${exprText(e.otherwise)}` : '',
        'end',
      );
    case 'call':
      return `${e.name}(${args(e.arguments)})`;
    case 'userCall':
      return `#${e.id}(${args(e.arguments)})`;
    case 'mapElements':
      return `map(${exprText(e.of)},${e.parameter}:${exprText(e.body)})`;
    case 'cast':
      return `${inner(e.operand)}::${e.type.kind === 'union' ? `(${typeText(e.type)})` : typeText(e.type)}`;
    case 'sqlCast':
      return `${e.failure === 'null' ? 'try_' : ''}cast(${exprText(e.operand)} as ${sqlTypeText(e.type)})`;
    case 'castNamed':
      return `${inner(e.operand)}::=${quoteName(e.name)}`;
    case 'record':
      return `{${e.elements.map((x) => (x.kind === 'field' ? `${quoteName(x.name)}:${exprText(x.value)}` : `...${exprText(x.value)}`)).join(',')}}`;
    case 'array':
      return `[${elementsText(e.elements)}]`;
    case 'set':
      return `|[${elementsText(e.elements)}]|`;
    case 'map':
      return `|{${e.entries.map((x) => `${exprText(x.key)}:${exprText(x.value)}`).join(',')}}|`;
    case 'fstring':
      return `f"${e.parts.map((p) => (typeof p === 'string' ? p : `{${exprText(p)}}`)).join('')}"`;
    case 'searchText':
      return `search(${exprText(e.operand)},${quoteText(e.text)})`;
    case 'searchRegexp':
      return `search(${exprText(e.operand)},/${e.anchored ? '^' : ''}${e.pattern}${e.anchored ? '$' : ''}/)`;
    case 'searchValue':
      return `search(${exprText(e.operand)},${supText(e.value)})`;
    case 'subquery':
      return `${e.form}${e.correlated ? ' of row' : ''}(${pipelineLines(e.body, '', inside())
        .map((line) => line.text.trim())
        .join(' | ')})`;
    case 'apply':
      return `${e.form} ${e.body.mode} of (${e.outer.map(exprText).join(', ')}) (${pipelineLines(
        e.body.pipeline,
        '',
        inside(),
      )
        .map((line) => line.text.trim())
        .join(' | ')})`;
    case 'outer':
      return `outer${e.index}`;
    case 'columns':
      return `columns{${e.elements.map((x) => (x.kind === 'field' ? `${quoteName(x.name)}:${exprText(x.value)}` : `...${exprText(x.value)}${x.without.length > 0 ? ` without ${x.without.join(' ')}` : ''}`)).join(',')}}`;
  }
};
const elementsText = (list: readonly { readonly spread: boolean; readonly value: PlanExpr }[]): string =>
  list.map((x) => `${x.spread ? '...' : ''}${exprText(x.value)}`).join(',');
const isOperator = (e: PlanExpr): boolean =>
  [
    'negate',
    'not',
    'and',
    'or',
    'arithmetic',
    'compare',
    'concat',
    'in',
    'like',
    'match',
    'isNull',
    'conditional',
    'cast',
    'castNamed',
  ].includes(e.kind);
