import { isObject } from '../../ui/is-object.ts';

type Values = Readonly<Record<string, unknown>>;

/** The values that a widget has for expressions before anything is entered into it; undefined for one that has none. */
export function initialValues(type: string, properties: Values): Values | undefined {
  return Object.hasOwn(initial, type) ? initial[type]?.(properties) : undefined;
}

const textual = ({ defaultValue }: Values): Values => ({
  value: defaultValue === undefined || defaultValue === null ? '' : String(defaultValue),
});
const chosen = ({ defaultValue }: Values): Values => ({
  value: defaultValue === undefined || defaultValue === '' ? null : defaultValue,
});
const isOn = (value: unknown) => value === true || value === 'true';

const initial: Readonly<Record<string, (properties: Values) => Values>> = {
  'text-input': textual,
  'search-input': textual,
  select: chosen,
  'radio-group': chosen,
  'date-picker': chosen,
  'multi-select': ({ defaultValue }) => ({ value: listOf(defaultValue) }),
  checkbox: ({ isChecked }) => ({ value: isOn(isChecked) }),
  switch: ({ isOn: on }) => ({ value: isOn(on) }),
  slider: ({ defaultValue, min }) => ({ value: Number(defaultValue ?? min ?? 0) || 0 }),
  'date-range-picker': ({ defaultValue, defaultEnd }) => ({
    value: { start: defaultValue || null, end: defaultEnd || null },
  }),
  'file-upload': () => ({ value: null, files: [] }),
  form: ({ fields }) => ({ values: formValues(fields) }),
  tabs: ({ tabs, defaultTab }) => ({ activeTab: defaultTab || firstKey(tabs) }),
  table: ({ pageSize = 20 }) => ({
    ...{ page: 1, pageSize, offset: 0, search: '', sortKey: null, sortDirection: null },
    ...{ selectedRow: null, selectedRows: [] },
  }),
  list: () => ({ selectedItem: null }),
};

function listOf(given: unknown): unknown[] {
  if (Array.isArray(given)) return given;
  return typeof given === 'string' && given !== '' ? given.split(',').map((one) => one.trim()) : [];
}

function firstKey(tabs: unknown): unknown {
  const [first] = Array.isArray(tabs) ? tabs.filter(isObject) : [];
  return first?.key;
}

/** The values of a form before anything is entered. */
export function formValues(fields: unknown): Values {
  const own = Array.isArray(fields) ? fields.filter(isObject) : [];
  return Object.fromEntries(
    own.map(({ key, type, defaultValue }) => [String(key), defaultValue ?? (type === 'checkbox' ? false : null)]),
  );
}
