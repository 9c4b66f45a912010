import '@mantine/core/styles/Radio.css';
import { Group, MultiSelect, Radio, Select, Stack } from '@mantine/core';
import { useMemo } from 'react';
import { flag, number, text, type WidgetProps } from '../page-context.ts';
import { fieldProps, optionsOf, useInput } from './use-input.ts';

const EMPTY: readonly unknown[] = [];

export function SelectWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const { options, givenValue } = useMemo(() => optionsOf(properties), [properties]);
  return (
    <Select
      {...fieldProps(title, properties)}
      data={options}
      value={input.value === null || input.value === undefined ? null : text(input.value)}
      searchable={flag(properties.isSearchable)}
      clearable={!flag(properties.isRequired)}
      clearButtonProps={{ 'aria-label': 'Clear' }}
      limit={200}
      nothingFoundMessage="Nothing found"
      onChange={(value) => (value === null ? input.clear() : input.set(givenValue(value)))}
      onFocus={() => input.fire('onFocus')}
      onBlur={() => input.fire('onBlur')}
      onDropdownOpen={() => input.fire('onOpen')}
      onDropdownClose={() => input.fire('onClose')}
    />
  );
}

export function MultiSelectWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const { options, givenValue } = useMemo(() => optionsOf(properties), [properties]);
  const most = number(properties.maxSelected);
  return (
    <MultiSelect
      {...fieldProps(title, properties)}
      data={options}
      value={(Array.isArray(input.value) ? input.value : EMPTY).map((one) => text(one))}
      {...(most !== undefined && { maxValues: Math.max(Math.trunc(most), 1) })}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear' }}
      limit={200}
      nothingFoundMessage="Nothing found"
      onChange={(values) => input.set(values.map(givenValue))}
      onFocus={() => input.fire('onFocus')}
      onBlur={() => input.fire('onBlur')}
      onDropdownOpen={() => input.fire('onOpen')}
      onDropdownClose={() => input.fire('onClose')}
    />
  );
}

export function RadioGroupWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const { options, givenValue } = useMemo(() => optionsOf(properties), [properties]);
  const { label, required, disabled } = fieldProps(title, properties);
  const Side = properties.direction === 'row' ? Group : Stack;
  return (
    <Radio.Group {...{ label, required }} value={text(input.value)} onChange={(value) => input.set(givenValue(value))}>
      <Side gap="xs" mt={4}>
        {options.map(({ value, label: words }) => (
          <Radio key={value} value={value} label={words} disabled={disabled} />
        ))}
      </Side>
    </Radio.Group>
  );
}
