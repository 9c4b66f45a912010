import { flag, type Properties, text, useExposed, usePage } from '../page-context.ts';

/** The value of an input, which the page keeps and other widgets read. */
export function useInput(widgetKey: string) {
  const page = usePage();
  const { value } = useExposed(page, widgetKey);
  return {
    value,
    fire: (name: string, event: Readonly<Record<string, unknown>> = {}) =>
      void page.fire(widgetKey, name, { value, ...event }),
    set(next: unknown) {
      page.enter(widgetKey, { value: next });
      void page.fire(widgetKey, 'onChange', { value: next });
    },
    /** Empties the input: its default is where it began, and not what a person wants who clears it. */
    clear(empty: unknown = null) {
      page.enter(widgetKey, { value: empty });
      void page.fire(widgetKey, 'onClear');
    },
  };
}

/** The properties that most inputs have. */
export function fieldProps(title: string, { label, isDisabled, isRequired, placeholder }: Properties) {
  return {
    label: text(label, title),
    disabled: flag(isDisabled),
    required: flag(isRequired),
    ...(placeholder !== undefined && { placeholder: text(placeholder) }),
  };
}

export interface Option {
  value: string;
  label: string;
}

const MAX_OPTIONS = 1_000;

/** Choices as texts, as objects with a label and a value, or as rows of a query. */
export function optionsOf({ options, labelKey, valueKey }: Properties): {
  options: Option[];
  givenValue: (text: string) => unknown;
} {
  const values = new Map<string, unknown>();
  const own = Array.isArray(options) ? options.slice(0, MAX_OPTIONS) : [];
  const found = own.flatMap((one): Option[] => {
    const isRow = typeof one === 'object' && one !== null;
    const row = isRow ? (one as Readonly<Record<string, unknown>>) : {};
    const value = isRow ? (row[text(valueKey, 'value')] ?? Object.values(row)[0]) : one;
    const key = text(value);
    // A list that has a value twice cannot tell which one is meant.
    if (key === '' || values.has(key)) return [];
    values.set(key, value);
    return [{ value: key, label: isRow ? text(row[text(labelKey, 'label')] ?? value) : key }];
  });
  return { options: found, givenValue: (key) => values.get(key) ?? key };
}
