import { Button, Stack, Text } from '@mantine/core';
import { useContext, useMemo, useState } from 'react';
import type { Schemas } from '../../../client/types.ts';
import { propertiesID } from '../../../page/state/page-content.ts';
import { wordsOfName } from '../../../ui/field-words.ts';
import { isObject } from '../../../ui/is-object.ts';
import { SchemaForm } from '../../../ui/schema-form.tsx';
import { layoutOf, propertiesOf, type Schema } from '../../../ui/schema-shape.ts';
import { setWidgetConfig } from '../../edits.ts';
import { FileField } from '../files/file-field.tsx';
import type { WidgetPanelProps } from '../panel.ts';
import { PageOnCanvas } from '../values/page-now.tsx';
import { RowsField } from './rows-field.tsx';

/** Every property may be an expression, and lists of choices may come from a query. */
const templates = { root: 'queries', inIDs: false, everywhere: true } as const;

/** The properties of a widget by the schema of its type. Those that are not in it are kept. */
export function PropertyForm({ document, widgetKey, edit, type }: WidgetPanelProps & { type: Schemas['WidgetForm'] }) {
  const { properties } = document.widgets[widgetKey]?.config ?? {};
  const value = isObject(properties) ? properties : {};
  const { form, files, rows } = useMemo(() => formOf(type), [type]);
  // Fields keep what is typed, so they begin anew when they are filled.
  const [fills, setFills] = useState(0);
  const set = (next: Readonly<Record<string, unknown>>) =>
    edit(setWidgetConfig(widgetKey, { properties: next }), `properties of ${widgetKey}`);
  return (
    <Stack gap="sm">
      {files.map(([name, { title, description }]) => (
        <FileField
          key={name}
          label={String(title)}
          description={String(description)}
          kind={type.widgetType === 'video' && name === 'src' ? 'video' : 'image'}
          value={value[name]}
          onChange={(next) => set({ ...value, [name]: next })}
        />
      ))}
      {rows.map(([name, { title, description }]) => (
        <RowsField
          key={name}
          {...{ document, edit }}
          label={String(title)}
          description={String(description)}
          value={value[name]}
          onChange={(next) => set({ ...value, [name]: next })}
        />
      ))}
      <SchemaForm key={fills} form={form} value={value} templates={templates} onChange={set} />
      {type.widgetType === 'table' && (
        <ColumnsOfData
          widgetKey={widgetKey}
          onTake={(columns) => {
            set({ ...value, columns });
            setFills(fills + 1);
          }}
        />
      )}
    </Stack>
  );
}

/** The form without addresses of files and without rows, which have fields of their own. */
function formOf({ schema }: Schemas['WidgetForm']) {
  const own: Schema = propertiesOf(schema).properties ?? {};
  const all = Object.entries(propertiesOf(own));
  const files = all.filter(([, property]) => property['x-file'] === true);
  const rows = all.filter(([, property]) => property['x-rows'] === true);
  const others = all.filter((one) => !files.includes(one) && !rows.includes(one));
  const rest = { ...own, properties: Object.fromEntries(others) };
  return { form: { schema: rest, uischema: layoutOf(rest) }, files, rows };
}

interface Column {
  key: string;
  label: string;
}

/** Names the columns of a table by those that its rows have now. */
function ColumnsOfData({ widgetKey, onTake }: { widgetKey: string; onTake: (columns: Column[]) => void }) {
  const page = useContext(PageOnCanvas);
  const [isEmpty, setEmpty] = useState(false);
  const take = () => {
    const names = columnsNow(page?.bindings.read(propertiesID(widgetKey)).value);
    setEmpty(names.length === 0);
    if (names.length > 0) onTake(names.map((key) => ({ key, label: wordsOfName(key) })));
  };
  return (
    <div>
      <Button size="compact-sm" variant="default" disabled={!page} onClick={take}>
        Take the columns of the data
      </Button>
      {isEmpty && (
        <Text size="xs" mt={4} role="status">
          The table has no rows now. Choose them under “Rows” first.
        </Text>
      )}
    </div>
  );
}

function columnsNow(properties: unknown): string[] {
  const items = isObject(properties) ? properties.items : undefined;
  const rows = Array.isArray(items) ? items.slice(0, 20).filter(isObject) : [];
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}
