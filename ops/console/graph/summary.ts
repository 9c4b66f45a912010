import { countOf } from '../ui/count.ts';
import { isID, namesIn } from '../ui/picked.ts';

type Config = Readonly<Record<string, unknown>>;

/** Titles and texts of what steps name by id: queries and workflows. */
export type Named = ReadonlyMap<string, { title: string; text?: string | undefined }>;

/** One line of what a step does; empty if its config does not tell. */
export function summaryOf(type: string, data: Config, named: Named): string {
  const line = Object.hasOwn(lines, type) ? lines[type]?.(data, named) : undefined;
  return (line ?? textOf(data.description)).replace(/\s+/g, ' ').trim().slice(0, MAX_LINE);
}

/** More is never seen of a card. */
export const MAX_LINE = 120;

const NO_ID = '00000000-0000-4000-8000-000000000000';

const lines: Readonly<Record<string, (data: Config, named: Named) => string>> = {
  start: ({ description }) => textOf(description) || 'runs begin here',
  dataQuery({ dataQueryID }, named) {
    if (dataQueryID === NO_ID || textOf(dataQueryID) === '') return 'no query is chosen';
    const query = named.get(textOf(dataQueryID));
    if (!query) return textOf(dataQueryID).includes('{{') ? 'a query that is computed' : '';
    return (query.text && sqlLine(query.text)) || query.title;
  },
  http: ({ method, url }) => `${textOf(method) || 'GET'} ${withoutScheme(textOf(url))}`,
  set: ({ assignments }) => listOf(assignments, 'name').join(', '),
  condition: ({ branches }) => {
    const [first, ...others] = listOf(branches);
    const more = others.length > 0 ? `, and ${countOf(others.length, 'branch', 'branches')} more` : '';
    return `${conditionsOf(first)}${more}`;
  },
  switch: ({ switchValue, cases }) => `${said(switchValue)}: ${listOf(cases).map(caseOf).join(', ')}`,
  fanout: ({ branches }) => `${countOf(listOf(branches).length, 'branch', 'branches')} at once`,
  join: ({ sourceVariables, joinMode }) => {
    const waits = joinMode === 'any' ? 'goes on with the first branch' : 'waits for all branches';
    const names = Array.isArray(sourceVariables) ? sourceVariables.map(textOf).join(', ') : '';
    return names ? `collects ${names}` : waits;
  },
  loop: ({ sourceVariable }) => `for each of ${said(sourceVariable)}`,
  map: ({ sourceVariable, concurrency }) => `for each of ${said(sourceVariable)}, ${Number(concurrency) || 10} at once`,
  delay: delayOf,
  approval: ({ approvers }, named) => `waits for an approval${byWhom(approvers, named)}`,
  dataCollection: ({ fields, formSchema }) => {
    const names = formSchema ? 'a form' : listOf(fields, 'label').join(', ');
    return `asks for ${names || 'an answer'}`;
  },
  subWorkflow: ({ childWorkflowID }, named) => {
    if (childWorkflowID === NO_ID || textOf(childWorkflowID) === '') return 'no workflow is chosen';
    const computed = textOf(childWorkflowID).includes('{{') ? 'a workflow that is computed' : '';
    return named.get(textOf(childWorkflowID))?.title ?? computed;
  },
  waitForEvent: ({ eventName, eventKey }) =>
    `waits for ${textOf(eventName)}${eventKey === undefined ? '' : ` of ${said(eventKey)}`}`,
  javascript: ({ code }) =>
    textOf(code)
      .split('\n')
      .map((line) => line.trim())
      .find((line) => line !== '' && !line.startsWith('//')) ?? '',
  ai: ({ prompt }) => textOf(prompt),
  log: ({ message }) => said(message),
  end: ({ status, outputParameters }) => {
    if (status === 'failure') return 'the run fails here';
    if (status === 'cancelled') return 'the run is cancelled here';
    const names = listOf(outputParameters, 'name').join(', ');
    return names ? `answers ${names}` : 'the run is done';
  },
};

/** People and roles by their names; of an id whose name is not known it says nothing. */
function byWhom(approvers: unknown, named: Named): string {
  const names = namesIn(approvers).flatMap((name) => named.get(name)?.title ?? (isID(name) ? [] : said(name)));
  return names.length > 0 ? ` by ${names.join(', ')}` : '';
}

/** The beginning of a statement tells enough. */
const MAX_READ = 5_000;

/** A statement cut down to its verb and its table. */
export function sqlLine(sql: string): string {
  const text = sql.slice(0, MAX_READ).replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').trim();
  const table = '["`]?[\\w.]+["`]?';
  const change = new RegExp(`\\b(insert into|delete from|update) (${table})`, 'i').exec(text);
  if (change) return `${change[1]?.toLowerCase()} ${change[2]}`;
  const read = new RegExp(`^(?:with|select)\\b.*?\\bfrom (${table})`, 'i').exec(text);
  if (read) return `select … from ${read[1]}`;
  return text;
}

function delayOf({ delayType, delayMinutes, delaySeconds, delayMs, delayVariable, untilTime }: Config): string {
  if (delayType === 'until') return `waits until ${said(untilTime)}`;
  if (delayType === 'dynamic') return `waits ${said(delayVariable)} ms`;
  const parts = [
    [delayMinutes, 'min'],
    [delaySeconds, 's'],
    [delayMs, 'ms'],
  ].flatMap(([amount, unit]) => (amount ? `${amount} ${unit}` : []));
  return parts.length > 0 ? `waits ${parts.join(' ')}` : 'does not wait';
}

/** The conditions of a branch or a filter in a line. */
export function conditionsOf(branch: unknown): string {
  if (typeof branch !== 'object' || branch === null) return '';
  const { conditions, conditionLogic } = branch as Config;
  return listOf(conditions)
    .map((one) => {
      const { leftValue, operator, rightValue } = one as Config;
      if (operator === 'expression') return said(leftValue);
      const sign = signs[textOf(operator)] ?? textOf(operator).replaceAll('_', ' ');
      return `${said(leftValue)} ${sign}${rightValue === undefined ? '' : ` ${said(rightValue)}`}`;
    })
    .join(conditionLogic === 'OR' ? ' or ' : ' and ');
}

const signs: Readonly<Record<string, string>> = {
  equals: '=',
  not_equals: '≠',
  greater_than: '>',
  less_than: '<',
  greater_or_equal: '≥',
  less_or_equal: '≤',
};

function caseOf(one: unknown): string {
  const { label, matchValue, id } = one as Config;
  return textOf(label) || said(matchValue) || textOf(id);
}

/** A value as a person says it: a template that is all of it by its path alone. */
function said(value: unknown): string {
  if (typeof value !== 'string') return value === undefined ? '' : JSON.stringify(value);
  return value.replace(/\{\{\s*(?:ctx\.)?(.*?)\s*\}\}/g, '$1');
}

function withoutScheme(url: string): string {
  return said(url.replace(/^https?:\/\//, ''));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function listOf(list: unknown): object[];
function listOf(list: unknown, key: string): string[];
function listOf(list: unknown, key?: string): (object | string)[] {
  const objects = Array.isArray(list) ? list.filter((one) => typeof one === 'object' && one !== null) : [];
  return key === undefined ? objects : objects.flatMap((one) => textOf(one[key]) || []);
}
