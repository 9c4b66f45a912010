import { isObject } from '../../ui/is-object.ts';
import type { PageDocument } from '../document.ts';
import { nameOf, setConfig } from '../edits.ts';

type Config = Readonly<Record<string, unknown>>;

export type SourceType = 'query' | 'workflow' | 'listener' | 'runs';

/** A data source of a page, with the fields of the stored one. */
export interface Source extends Config {
  alias: string;
  type: SourceType;
}

export interface Variable extends Config {
  key: string;
}

/** The field with the id of what a data source binds. */
export const idFieldOf = {
  query: 'queryID',
  workflow: 'workflowID',
  listener: 'listenerID',
  runs: 'workflowID',
} as const satisfies Record<SourceType, string>;

const types: readonly unknown[] = Object.keys(idFieldOf);

function isSource(one: unknown): one is Source {
  return isObject(one) && typeof one.alias === 'string' && types.includes(one.type);
}

export function sourcesOf({ dataSources }: Config): Source[] {
  return Array.isArray(dataSources) ? dataSources.filter(isSource) : [];
}

export function variablesOf({ variables }: Config): Variable[] {
  const isVariable = (one: unknown): one is Variable => isObject(one) && typeof one.key === 'string';
  return Array.isArray(variables) ? variables.filter(isVariable) : [];
}

/** The id of what a data source binds. */
export function boundBy(source: Source): string | undefined {
  const id = source[idFieldOf[source.type]];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** The names by which expressions read the widgets of a page, by their keys. */
export function namesOfWidgets(document: PageDocument): Map<string, string> {
  return new Map(Object.keys(document.widgets).map((key) => [key, nameOf(document, key)]));
}

/** Replaces a data source by its alias; undefined removes it. Other entries stay as they are, also those that are not understood. */
export function withSource(document: PageDocument, alias: string, next: Source | undefined): PageDocument {
  return setConfig({
    dataSources: replaced(document.config.dataSources, (one) => isSource(one) && one.alias === alias, next),
  })(document);
}

export function withVariable(document: PageDocument, key: string, next: Variable | undefined): PageDocument {
  return setConfig({
    variables: replaced(document.config.variables, (one) => isObject(one) && one.key === key, next),
  })(document);
}

export function addSource(document: PageDocument, source: Source): PageDocument {
  return setConfig({ dataSources: [...listOf(document.config.dataSources), source] })(document);
}

export function addVariable(document: PageDocument, variable: Variable): PageDocument {
  return setConfig({ variables: [...listOf(document.config.variables), variable] })(document);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function replaced(list: unknown, isIt: (one: unknown) => boolean, next: unknown): unknown[] {
  return listOf(list).flatMap((one) => (isIt(one) ? (next === undefined ? [] : [next]) : [one]));
}

/** A name made of words, such as `openOrders`, that none of the others is. */
export function nameFrom(words: string, taken: Iterable<string>): string {
  const parts = words
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
    .slice(0, 4);
  const joined = parts
    .map((part, at) => (at === 0 ? part.charAt(0).toLowerCase() : part.charAt(0).toUpperCase()) + part.slice(1))
    .join('')
    .slice(0, 40);
  const base = /^[\p{L}_$]/u.test(joined) ? joined : `data${joined}`;
  const used = new Set(taken);
  if (!used.has(base)) return base;
  for (let count = 2; ; count += 1) if (!used.has(`${base}${count}`)) return `${base}${count}`;
}
