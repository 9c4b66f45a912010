import type { Shape } from '#shared/workflow/nodes/results.ts';
import { isObject } from '../../../ui/is-object.ts';

export type Action = Readonly<Record<string, unknown>>;

type Config = Readonly<Record<string, unknown>>;

/** The actions of an event; entries that are none stay where they are. */
export function actionsOf({ events }: Config, name: string): readonly unknown[] {
  const actions = isObject(events) && Object.hasOwn(events, name) ? events[name] : undefined;
  return Array.isArray(actions) ? actions : [];
}

/** The part of a widget's config in which an event has these actions. */
export function withActions({ events }: Config, name: string, actions: readonly unknown[]): Config {
  const { [name]: _, ...others } = isObject(events) ? events : {};
  return { events: actions.length > 0 ? { ...others, [name]: actions } : others };
}

export function countActions({ events }: Config): number {
  return isObject(events)
    ? Object.values(events).reduce<number>((sum, actions) => sum + (Array.isArray(actions) ? actions.length : 0), 0)
    : 0;
}

/** Events in words. */
const words: Readonly<Record<string, string>> = {
  onClick: 'When it is clicked',
  onLoad: 'When it is first shown',
  onRefresh: 'When its data are read again',
  onSubmit: 'When it is sent',
  onFieldChange: 'When a field is changed',
  onChange: 'When its value is changed',
  onClear: 'When it is emptied',
  onFocus: 'When it is entered',
  onBlur: 'When it is left',
  onOpen: 'When its choices are opened',
  onClose: 'When its choices are closed',
  onSearch: 'When something is searched for',
  onRowSelect: 'When a row is chosen',
  onRowSave: 'When an edited row is saved',
  onBulkEdit: 'When chosen rows are edited',
  onBulkAction: 'When something is applied to chosen rows',
  onBulkDelete: 'When chosen rows are deleted, after a question',
  onBulkExport: 'When chosen rows are exported',
  onExport: 'When the rows are exported',
  onPageChange: 'When another page of rows is shown',
  onItemClick: 'When an entry is clicked',
  onMarkClick: 'When a part of the chart is clicked',
  onMessage: 'When its script sends a message',
  onDismiss: 'When it is closed',
};

export function wordsOfEvent(name: string): string {
  return Object.hasOwn(words, name) ? (words[name] ?? name) : `At ${name}, of which the console does not tell`;
}

const NO_BUTTON = 'With an action, the table has a button for it.';

const hints: Readonly<Record<string, string>> = {
  onRowSave:
    'With an action, such as a query that changes the row, and the property “Editable”, each row has a button “Edit”.',
  onBulkEdit: NO_BUTTON,
  onBulkAction: NO_BUTTON,
  onBulkDelete: NO_BUTTON,
  onBulkExport: NO_BUTTON,
  onExport: 'With an action, or with the property “With an export”, the table has a button for it.',
};

/** Words for an event that has no actions yet. */
export function hintOfEvent(name: string): string {
  return (Object.hasOwn(hints, name) && hints[name]) || 'Nothing is done.';
}

/** The events that a type of widgets has, those that people use most first: of others the console does not tell, so only those with actions are shown. */
export function shownEvents(type: string, names: readonly string[], config: Config): string[] {
  const own = names.filter((name) => Object.hasOwn(words, name) && !(name === 'onClick' && type !== 'button'));
  const general = ['onRefresh', 'onLoad'];
  const sorted = [...own.filter((one) => !general.includes(one)), ...own.filter((one) => general.includes(one))];
  const used = isObject(config.events) ? Object.keys(config.events) : [];
  // A button fires both, one after the other.
  const shown = type === 'button' ? sorted.filter((name) => name !== 'onSubmit') : sorted;
  return [...shown, ...used.filter((name) => !shown.includes(name) && actionsOf(config, name).length > 0)];
}

const TEXT: Shape = { type: 'text' };
const ROW: Shape = { type: 'object', note: 'Its columns' };
const CHOSEN: Readonly<Record<string, Shape>> = { rows: { type: 'list', items: ROW }, count: { type: 'number' } };
const VALUE: Shape = { type: 'any value', note: 'What was entered' };

const fields: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  onRowSelect: { row: ROW, rows: { type: 'list', items: ROW } },
  onPageChange: { page: { type: 'number' }, pageSize: { type: 'number' } },
  onRowSave: {
    row: { type: 'object', note: 'Its columns, as changed' },
    before: { type: 'object', note: 'Its columns as they were' },
    changes: { type: 'object', note: 'The changed columns alone' },
  },
  ...Object.fromEntries(
    ['onBulkEdit', 'onBulkAction', 'onBulkDelete', 'onBulkExport'].map((name) => [name, CHOSEN] as const),
  ),
  onExport: { count: { type: 'number' }, format: TEXT },
  onSearch: { search: TEXT },
  onItemClick: { item: ROW },
  onChange: { value: VALUE },
  onSubmit: { values: { type: 'object', note: 'What was entered, by the keys of the fields' } },
  onFieldChange: { key: TEXT, value: VALUE, values: { type: 'object' } },
  onMessage: { data: { type: 'any value', note: 'What the script has sent' } },
};

/** The parts of an event that actions can name; those behind others also name the results of them. */
export function shapeOfEvent(name: string, before: readonly unknown[] = []): Shape {
  const done = before.filter(isObject).map(({ type }) => type);
  const ran = done.some((type) => type === 'EXECUTE_QUERY' || type === 'TRIGGER_QUERY');
  const started = done.includes('TRIGGER_WORKFLOW');
  return {
    type: 'object',
    fields: {
      ...fields[name],
      ...(ran && { result: { type: 'any value', note: 'What the query before has answered' } as const }),
      ...(started && { instanceID: { ...TEXT, note: 'The run that was started before' } }),
    },
  };
}
