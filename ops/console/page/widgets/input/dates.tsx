import { Group, TextInput } from '@mantine/core';
import { isObject } from '../../../ui/is-object.ts';
import { flag, type Properties, text, type WidgetProps } from '../page-context.ts';
import { fieldProps, useInput } from './use-input.ts';

/** Days as `2026-03-02`, and moments as the field of the browser has them, in its time zone. */
function dateProps({ withTime, minDate, maxDate }: Properties) {
  const length = flag(withTime) ? 16 : 10;
  const bound = (given: unknown) => text(given).slice(0, length);
  return {
    type: flag(withTime) ? 'datetime-local' : 'date',
    ...(text(minDate) !== '' && { min: bound(minDate) }),
    ...(text(maxDate) !== '' && { max: bound(maxDate) }),
  };
}

function shownDate(value: unknown, { withTime }: Properties): string {
  return text(value).slice(0, flag(withTime) ? 16 : 10);
}

export function DatePickerWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  return (
    <TextInput
      {...fieldProps(title, properties)}
      {...dateProps(properties)}
      value={shownDate(input.value, properties)}
      onChange={({ currentTarget: { value } }) => (value === '' ? input.clear() : input.set(value))}
      onFocus={() => input.fire('onFocus')}
      onBlur={() => input.fire('onBlur')}
    />
  );
}

export function DateRangeWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const { start = null, end = null } = isObject(input.value) ? input.value : {};
  const { label, ...shared } = fieldProps(title, properties);
  const isWrong = text(start) !== '' && text(end) !== '' && text(start) > text(end);
  const field = (side: 'start' | 'end', words: string) => (
    <TextInput
      {...shared}
      {...dateProps(properties)}
      label={words}
      error={isWrong && side === 'end' && 'The end is before the beginning'}
      value={shownDate(side === 'start' ? start : end, properties)}
      onChange={({ currentTarget: { value } }) => input.set({ start, end, [side]: value || null })}
      onFocus={() => input.fire('onFocus')}
      onBlur={() => input.fire('onBlur')}
    />
  );
  return (
    <Group gap="xs" align="start" grow preventGrowOverflow={false}>
      {field('start', `${label}, from`)}
      {field('end', `${label}, to`)}
    </Group>
  );
}
