import { isObject } from '../../ui/is-object.ts';
import { isSame, type PageDocument, type WidgetDraft } from '../document.ts';
import { withWidgetsPlaced } from './placed.ts';

/** A field that two people have changed to different values. */
export interface Clash {
  /** The title of the widget; undefined: the page itself. */
  widget: string | undefined;
  /** The way to the field. */
  path: readonly string[];
  /** The one who has taken the widget off, which the other one has changed. */
  removedBy?: 'me' | 'them';
}

export interface Merged {
  document: PageDocument;
  /** There, the own value was unsaved. */
  clashes: readonly Clash[];
  /** Changes of the other person, in the same form. */
  theirs: readonly Clash[];
}

/** Joins two changes of one page: each field has the value of the one who has changed it, and the own one where both have. */
export function mergeDocuments(base: PageDocument, own: PageDocument, other: PageDocument): Merged {
  const clashes: Clash[] = [];
  const theirs: Clash[] = [];
  const about = (widget: string | undefined): Notes => ({
    onClash: (path) => clashes.push({ widget, path }),
    onTheirs: (path) => theirs.push({ widget, path }),
  });
  const page = mergeValue(pageOf(base), pageOf(own), { value: pageOf(other), path: [], ...about(undefined) });
  const keys = new Set([...Object.keys(own.widgets), ...Object.keys(other.widgets)]);
  const widgets = [...keys].flatMap((key): [string, WidgetDraft][] => {
    const [before, mine, next] = [base.widgets[key], own.widgets[key], other.widgets[key]];
    if (mine && next) {
      const merged = mergeValue(before, mine, { value: next, path: [], ...about(mine.title) });
      return [[key, merged as WidgetDraft]];
    }
    const one = mine ?? next;
    if (!one || isSame(before, one)) return [];
    // Taken off the page by one of them, and changed by the other one: it stays.
    if (before) clashes.push({ widget: one.title, path: [], removedBy: mine ? 'them' : 'me' });
    return [[key, one]];
  });
  // Safe: what is joined has the shape of both.
  const joinedPage = page as ReturnType<typeof pageOf>;
  const merged: PageDocument = { ...own, ...joinedPage, widgets: Object.fromEntries(widgets) };
  const dropped = [...keys, ...Object.keys(base.widgets)].filter((key) => !merged.widgets[key]);
  return { document: withWidgetsPlaced(merged, dropped, [own, other]), clashes, theirs };
}

function pageOf({ title, description, config }: PageDocument) {
  return { title, description, config };
}

interface Notes {
  onClash: (path: readonly string[]) => void;
  onTheirs: (path: readonly string[]) => void;
}

/** Lists whose items have a name, by which they are merged one by one. */
const names: Readonly<Record<string, string>> = { dataSources: 'alias', variables: 'key', lg: 'i', md: 'i', sm: 'i' };

function mergeValue(base: unknown, own: unknown, { value: other, path, ...notes }: Notes & At): unknown {
  if (isSame(own, other) || isSame(base, other)) return own;
  if (isObject(own) && isObject(other)) {
    const before = isObject(base) ? base : {};
    const keys = new Set([...Object.keys(own), ...Object.keys(other)]);
    const merged = [...keys].map((key): [string, unknown] => [
      key,
      mergeValue(before[key], own[key], { value: other[key], path: [...path, key], ...notes }),
    ]);
    return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
  }
  if (isSame(base, own)) {
    notes.onTheirs(path);
    return other;
  }
  const name = names[path.at(-1) ?? ''];
  if (name !== undefined && Array.isArray(own) && Array.isArray(other)) {
    const merged = mergeValue(byName(base, name), byName(own, name), { value: byName(other, name), path, ...notes });
    return Object.values(merged as object);
  }
  if (path.at(-1) === 'widgets' && Array.isArray(own) && Array.isArray(other)) return joined(base, own, other);
  notes.onClash(path);
  return own;
}

interface At {
  value: unknown;
  path: readonly string[];
}

function byName(list: unknown, name: string): Record<string, unknown> {
  const items: unknown[] = Array.isArray(list) ? list : [];
  return Object.fromEntries(items.map((item, at) => [isObject(item) ? String(item[name]) : String(at), item]));
}

/** Keys of widgets: those of both, without those that one of them has taken away. */
function joined(base: unknown, own: readonly unknown[], other: readonly unknown[]): unknown[] {
  const before: unknown[] = Array.isArray(base) ? base : [];
  const unsaved = own.filter((key) => other.includes(key) || !before.includes(key));
  return [...unsaved, ...other.filter((key) => !own.includes(key) && !before.includes(key))];
}
