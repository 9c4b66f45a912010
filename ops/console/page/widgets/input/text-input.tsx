import { CloseButton, Textarea, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { choice, flag, number, text, type WidgetProps } from '../page-context.ts';
import { fieldProps, useInput } from './use-input.ts';

export function TextInputWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const { isMultiline, maxLength, inputType } = properties;
  const most = number(maxLength);
  const shared = {
    ...fieldProps(title, properties),
    value: text(input.value),
    ...(most !== undefined && { maxLength: Math.max(Math.trunc(most), 1) }),
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => input.set(value),
    onFocus: () => input.fire('onFocus'),
    onBlur: () => input.fire('onBlur'),
  };
  if (flag(isMultiline)) return <Textarea {...shared} autosize minRows={3} maxRows={12} />;
  const type = choice(inputType, ['text', 'email', 'number', 'password', 'tel', 'url'], 'text');
  // A field of numbers would drop what is no number yet.
  return <TextInput {...shared} {...(type === 'number' ? { type: 'text', inputMode: 'decimal' } : { type })} />;
}

export function SearchInputWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const wait = Math.min(Math.max(number(properties.debounceMs) ?? 300, 0), 5_000);
  const search = useDebouncedCallback((value: string) => input.fire('onSearch', { value, search: value }), wait);
  const shown = text(input.value);
  return (
    <TextInput
      {...fieldProps(title, properties)}
      type="search"
      value={shown}
      rightSection={shown !== '' && <CloseButton size="sm" aria-label="Clear" onClick={() => input.clear('')} />}
      onChange={({ currentTarget: { value } }) => {
        input.set(value);
        search(value);
      }}
      onKeyDown={({ key }) => key === 'Enter' && input.fire('onSearch', { search: shown })}
      onFocus={() => input.fire('onFocus')}
      onBlur={() => input.fire('onBlur')}
    />
  );
}
