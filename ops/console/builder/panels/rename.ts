import { isObject } from '../../ui/is-object.ts';
import { expressionsIn } from '../../values/check.ts';
import type { PageDocument, WidgetDraft } from '../document.ts';
import { sourcesOf } from './config.ts';

/** Roots of expressions whose names the author of a page chooses. */
export type NamedRoot = 'queries' | 'workflows' | 'variables';

interface Renaming {
  root: NamedRoot;
  from: string;
  to: string;
}

/** A document in which something has another name: the uses of it in expressions and in actions have it too. */
export function renamed(document: PageDocument, renaming: Renaming): PageDocument {
  if (renaming.from === renaming.to) return document;
  const widgets = Object.fromEntries(
    Object.entries(document.widgets).map(([key, widget]): [string, WidgetDraft] => {
      const config = inValue(widget.config, renaming) as WidgetDraft['config'];
      return [key, config === widget.config ? widget : { ...widget, config }];
    }),
  );
  const config = withOwnName(inValue(document.config, renaming) as PageDocument['config'], renaming);
  return { ...document, config, widgets };
}

/** The declaration of what is renamed, and what names it without an expression. */
function withOwnName(config: PageDocument['config'], { root, from, to }: Renaming): PageDocument['config'] {
  const { dataSources, variables } = config;
  if (root === 'variables') {
    if (!Array.isArray(variables)) return config;
    return {
      ...config,
      variables: variables.map((one) => (isObject(one) && one.key === from ? { ...one, key: to } : one)),
    };
  }
  if (!Array.isArray(dataSources)) return config;
  const isOwn = (one: unknown) =>
    isObject(one) && one.alias === from && (one.type === 'workflow') === (root === 'workflows');
  return { ...config, dataSources: dataSources.map((one) => (isOwn(one) ? { ...one, alias: to } : one)) };
}

/** Actions that name it by their field. */
const fieldsOf: Readonly<Record<NamedRoot, Readonly<Record<string, string>>>> = {
  queries: { EXECUTE_QUERY: 'alias' },
  workflows: { TRIGGER_WORKFLOW: 'alias' },
  variables: { SET_VARIABLE: 'key' },
};

function inValue(value: unknown, renaming: Renaming): unknown {
  if (typeof value === 'string') return inText(value, renaming);
  if (Array.isArray(value)) {
    const next = value.map((one) => inValue(one, renaming));
    return next.some((one, at) => one !== value[at]) ? next : value;
  }
  if (!isObject(value)) return value;
  let isChanged = false;
  const entries = Object.entries(value).map(([name, part]): [string, unknown] => {
    const next = name === 'refreshOn' ? inNames(part, renaming) : inValue(part, renaming);
    isChanged ||= next !== part;
    return [name, next];
  });
  const field = typeof value.type === 'string' ? fieldsOf[renaming.root][value.type] : undefined;
  if (field !== undefined && value[field] === renaming.from)
    return { ...Object.fromEntries(entries), [field]: renaming.to };
  return isChanged ? Object.fromEntries(entries) : value;
}

/** Names whose change makes a query run again stand without braces. */
function inNames(list: unknown, renaming: Renaming): unknown {
  if (!Array.isArray(list)) return list;
  const next = list.map((one) => (typeof one === 'string' ? inSource(one, renaming) : one));
  return next.some((one, at) => one !== list[at]) ? next : list;
}

function inText(text: string, renaming: Renaming): string {
  let written = '';
  let end = 0;
  for (const { from, to } of expressionsIn(text, Number.POSITIVE_INFINITY)) {
    written += text.slice(end, from) + inSource(text.slice(from, to), renaming);
    end = to;
  }
  return end === 0 ? text : written + text.slice(end);
}

const rootsOf: Readonly<Record<NamedRoot, string>> = {
  queries: 'queries',
  workflows: 'workflows',
  variables: 'variables|state',
};
const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** Texts and comments in an expression, in which names are words. */
const LITERALS = String.raw`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\*[\s\S]*?\*\/|\/\/[^\n]*`;

function patternOf(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function inSource(source: string, { root, from, to }: Renaming): string {
  const escaped = patternOf(from);
  const inQuotes = `(?:${escaped}|${patternOf(JSON.stringify(from).slice(1, -1))})`;
  const pattern = new RegExp(
    String.raw`(?<![\w$])(?<!(?<!\.\.)\.)(${rootsOf[root]})(\s*)(?:(\?\.|\.)\s*${escaped}(?![\p{L}\p{N}_$])` +
      String.raw`|(\?\.)?\s*\[\s*(["'])${inQuotes}\5\s*\])` +
      // A text in backquotes has code in it, and quotes that end nothing.
      (source.includes('`') ? '' : LITERALS),
    'gu',
  );
  return source.replace(pattern, (whole: string, name?: string, space?: string, dot?: string, before?: string) => {
    if (name === undefined) return whole;
    const isOptional = (dot ?? before) === '?.';
    if (NAME.test(to)) return `${name}${space}${isOptional ? '?.' : '.'}${to}`;
    return `${name}${space}${isOptional ? '?.' : ''}[${JSON.stringify(to)}]`;
  });
}

/** The names of data sources whose inputs or times name something. */
export function sourcesUsing(document: PageDocument, root: NamedRoot, name: string): string[] {
  const renaming = { root, from: name, to: `${name} ` };
  return sourcesOf(document.config).flatMap((source) => (inValue(source, renaming) === source ? [] : [source.alias]));
}

/** The widgets that name something: in expressions, or in their actions. */
export function usersOf(document: PageDocument, root: NamedRoot, name: string): WidgetDraft[] {
  const renaming = { root, from: name, to: `${name} ` };
  return Object.values(document.widgets).filter(({ config }) => inValue(config, renaming) !== config);
}
