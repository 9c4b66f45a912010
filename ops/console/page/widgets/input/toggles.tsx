import '@mantine/core/styles/Switch.css';
import { Checkbox, Switch } from '@mantine/core';
import type { WidgetProps } from '../page-context.ts';
import { fieldProps, useInput } from './use-input.ts';

export function CheckboxWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const { label, disabled, required } = fieldProps(title, properties);
  return (
    <Checkbox
      {...{ label, disabled, required }}
      checked={input.value === true}
      onChange={({ currentTarget: { checked } }) => input.set(checked)}
    />
  );
}

export function SwitchWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const { label, disabled } = fieldProps(title, properties);
  return (
    <Switch
      {...{ label, disabled }}
      checked={input.value === true}
      onChange={({ currentTarget: { checked } }) => input.set(checked)}
    />
  );
}
