import type { VersionContent } from '../../../client/page-version.ts';
import type { FieldChange } from '../../../editor/version-changes.ts';
import { wordsOfKey } from '../../../ui/field-words.ts';
import { isObject } from '../../../ui/is-object.ts';
import { isSame } from '../../document.ts';

/** A part of a page that differs between two versions. */
export interface PageChange {
  key: string;
  what: string;
  name: string;
  verb: 'added' | 'removed' | 'changed';
  fields: FieldChange[];
}

type Config = Readonly<Record<string, unknown>>;

const EMPTY: VersionContent = { title: '', description: null, config: {} };

/** Differences between two versions of a page. Widgets have no versions: only whether the page shows them does. */
export function pageChanges(
  before: VersionContent | undefined,
  after: VersionContent,
  titleOf: (widgetKey: string) => string,
): PageChange[] {
  const old = before ?? EMPTY;
  const { widgets: _w, dataSources: _d, variables: _v, layout, layouts, ...rest } = after.config;
  const own = fieldChanges(
    { title: old.title, description: old.description ?? undefined, ...othersOf(old.config) },
    { title: after.title, description: after.description ?? undefined, ...rest },
  );
  const isMoved = !isSame(old.config.layout, layout) || !isSame(old.config.layouts, layouts);
  const widgets = setChanges(keysOf(old.config.widgets), keysOf(after.config.widgets), titleOf);
  return [
    ...(own.length > 0
      ? [{ key: 'page', what: 'Page', name: after.title, verb: 'changed' as const, fields: own }]
      : []),
    ...widgets,
    ...listChanges('Data', 'alias', old.config.dataSources, after.config.dataSources),
    ...listChanges('Variable', 'key', old.config.variables, after.config.variables),
    ...(isMoved
      ? [{ key: 'layout', what: 'Layout', name: 'where the parts stand', verb: 'changed' as const, fields: [] }]
      : []),
  ];
}

function othersOf({ widgets: _w, dataSources: _d, variables: _v, layout: _l, layouts: _s, ...rest }: Config): Config {
  return rest;
}

function keysOf(value: unknown): string[] {
  return Array.isArray(value) ? [...new Set(value.filter((one) => typeof one === 'string'))] : [];
}

function setChanges(before: readonly string[], after: readonly string[], titleOf: (key: string) => string) {
  const change = (key: string, verb: 'added' | 'removed'): PageChange => ({
    ...{ key: `widget ${key}`, what: 'Widget', name: titleOf(key), verb, fields: [] },
  });
  return [
    ...after.filter((key) => !before.includes(key)).map((key) => change(key, 'added')),
    ...before.filter((key) => !after.includes(key)).map((key) => change(key, 'removed')),
  ];
}

function listChanges(what: string, field: string, before: unknown, after: unknown): PageChange[] {
  const [old, now] = [namedIn(before, field), namedIn(after, field)];
  return [...new Set([...now.keys(), ...old.keys()])].flatMap((name): PageChange[] => {
    const [one, other] = [old.get(name), now.get(name)];
    if (isSame(one, other)) return [];
    const verb = one === undefined ? 'added' : other === undefined ? 'removed' : 'changed';
    const fields = verb === 'changed' ? fieldChanges(one ?? {}, other ?? {}) : [];
    return [{ key: `${what} ${name}`, what, name, verb, fields }];
  });
}

function namedIn(list: unknown, field: string): Map<string, Config> {
  const all = Array.isArray(list) ? list.filter(isObject) : [];
  return new Map(all.map((one) => [String(one[field]), one]));
}

function fieldChanges(before: Config, after: Config): FieldChange[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSame(before[name], after[name]))
    .map((name) => ({ field: words[name] ?? wordsOfKey(name), from: before[name], to: after[name] }));
}

const words: Readonly<Record<string, string>> = {
  queryID: 'Query',
  workflowID: 'Workflow',
  listenerID: 'Listener',
  channelName: 'Channel',
  inputValues: 'Inputs',
  triggerMode: 'When it is read',
  refreshOn: 'Read again when these change',
  refetchInterval: 'Read again every (ms)',
  defaultValue: 'Value at first',
  layoutVersion: 'Version of the layout',
};
