import { Button, Input, List } from '@mantine/core';
import '@mantine/core/styles/List.css';
import { useId } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { flag, number, text, useExposed, usePage, type WidgetProps } from '../page-context.ts';
import { fieldProps } from './use-input.ts';

const MEGABYTE = 1_000_000;
/** The server takes no larger ones. */
const MOST_MB = 10;

function firstAddress([first]: readonly { url: string }[]): string | null {
  return first?.url ?? null;
}

/** Files that are stored with the tenant's; the value is the address of the first one. */
export function FileUploadWidget({ widgetKey, title, properties }: WidgetProps) {
  const page = usePage();
  const id = useId();
  const picker = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const { files } = useExposed(page, widgetKey);
  const known = Array.isArray(files) ? (files as { fileName: string }[]) : [];
  const { label, disabled, required } = fieldProps(title, properties);
  const most = Math.min(number(properties.maxSizeMB) ?? MOST_MB, MOST_MB);

  const take = async (list: FileList | null) => {
    const chosen = [...(list ?? [])];
    const large = chosen.find(({ size }) => size > most * MEGABYTE);
    setError(large && `${large.name} has more than ${most} MB`);
    if (large || chosen.length === 0) return;
    setBusy(true);
    try {
      const stored = [];
      for (const file of chosen) stored.push(await page.client.upload(file));
      const entered = { value: firstAddress(stored), files: stored };
      page.enter(widgetKey, entered);
      await page.fire(widgetKey, 'onChange', entered);
    } catch (refused) {
      setError(refused instanceof Error ? refused.message : String(refused));
    } finally {
      setBusy(false);
      if (picker.current) picker.current.value = '';
    }
  };
  return (
    <Input.Wrapper {...{ label, required, error, id }} labelElement="div">
      <input
        ref={picker}
        type="file"
        hidden
        multiple={flag(properties.isMultiple)}
        accept={text(properties.accept)}
        onChange={({ currentTarget }) => void take(currentTarget.files)}
      />
      <div>
        <Button variant="default" disabled={disabled} loading={isBusy} onClick={() => picker.current?.click()}>
          {flag(properties.isMultiple) ? `Choose files for ${label}` : `Choose a file for ${label}`}
        </Button>
      </div>
      {known.length > 0 && (
        <List size="sm" mt="xs">
          {known.map(({ fileName }) => (
            <List.Item key={fileName}>
              <bdi>{fileName}</bdi>
            </List.Item>
          ))}
        </List>
      )}
      {known.length > 0 && (
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => {
            page.clear(widgetKey);
            void page.fire(widgetKey, 'onClear');
          }}
        >
          Remove
        </Button>
      )}
    </Input.Wrapper>
  );
}
