import { Autocomplete, Button, Fieldset, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../../../client/types.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { DeclaredInputs } from '../../../ui/declared-inputs.tsx';
import { wordsOfName } from '../../../ui/field-words.ts';
import { isObject } from '../../../ui/is-object.ts';
import { namedBy } from '../../../ui/picked.ts';
import { Picker } from '../../../ui/picker.tsx';
import { itemsOf, propertiesOf, type Schema } from '../../../ui/schema-shape.ts';
import { setWidgetConfig } from '../../edits.ts';
import { columnsOfRun, RunNow } from '../data/run-now.tsx';
import type { WidgetPanelProps } from '../panel.ts';
import { StateValues } from '../values/state-values.tsx';

type Binding = Readonly<Record<string, unknown>>;
type Props = WidgetPanelProps & { type: Schemas['WidgetForm'] };

/** The queries that a widget binds itself. Charts have their data by them alone; others have mostly those of the page. */
export function WidgetData({ document, widgetKey, edit, type }: Props) {
  const { dataQueries } = document.widgets[widgetKey]?.config ?? {};
  const bindings: readonly Binding[] = Array.isArray(dataQueries) ? dataQueries.filter(isObject) : [];
  const isChart = type.shape !== 'raw' && type.shape !== 'text';
  if (!isChart && bindings.length === 0) return null;
  const put = (next: readonly Binding[]) =>
    edit(setWidgetConfig(widgetKey, { dataQueries: next }), `data of ${widgetKey}`);
  return (
    <Fieldset legend="Data of the widget" p="xs">
      <Stack gap="sm">
        {bindings.length === 0 && <Text size="sm">None yet: a chart draws the rows of a query.</Text>}
        {bindings.map((binding, at) => (
          <OneBinding
            // biome-ignore lint/suspicious/noArrayIndexKey: bindings have no key but their place
            key={at}
            {...{ document, binding, type }}
            onChange={(part) => put(bindings.with(at, without({ ...binding, ...part })))}
            onRemove={() => put(bindings.toSpliced(at, 1))}
          />
        ))}
        <div>
          <Button size="compact-sm" variant="default" onClick={() => put([...bindings, { dataQueryID: '' }])}>
            Add a query
          </Button>
        </div>
      </Stack>
    </Fieldset>
  );
}

function without(binding: Binding): Binding {
  return Object.fromEntries(Object.entries(binding).filter(([, value]) => value !== undefined));
}

interface BindingProps extends Pick<Props, 'document' | 'type'> {
  binding: Binding;
  onChange: (part: Binding) => void;
  onRemove: () => void;
}

function OneBinding({ document, binding, type, onChange, onRemove }: BindingProps) {
  const tenantID = useTenantID();
  const queries = useQueryClient();
  const id = namedBy(binding.dataQueryID);
  // Both names are read; the one that is there is kept.
  const inputsField = binding.inputValues === undefined ? 'dataQueryArgValues' : 'inputValues';
  const inputs = binding[inputsField];
  const fields = isObject(binding.datasetFields) ? binding.datasetFields : {};
  const labels = useMemo(() => columnLabels(type), [type]);
  const known = id === undefined ? [] : columnsOfRun(queries, { tenantID, dataQueryID: id });
  return (
    <Fieldset variant="filled" p="xs" aria-label="A query of the widget">
      <Stack gap="xs">
        <Picker
          types={['dataQuery']}
          label="Query"
          required
          value={id}
          onChange={(next) => onChange({ dataQueryID: next ?? '' })}
        />
        {id !== undefined && (
          <StateValues document={document}>
            <DeclaredInputs
              type="dataQuery"
              id={id}
              label="Inputs"
              value={isObject(inputs) ? inputs : undefined}
              root="queries"
              faultOf={() => undefined}
              other={null}
              onChange={(next) => onChange({ [inputsField]: next })}
            />
          </StateValues>
        )}
        {id !== undefined && <RunNow dataQueryID={id} inputs={isObject(inputs) ? inputs : {}} />}
        {type.columns.map((name) => (
          <Autocomplete
            key={name}
            label={labels[name] ?? wordsOfName(name)}
            description="Name of the column. A run shows those that there are"
            data={known}
            value={String(fields[name] ?? '')}
            onChange={(value) => onChange({ datasetFields: { ...fields, [name]: value } })}
          />
        ))}
        <TextInput
          label="Name in the legend"
          value={String(binding.title ?? '')}
          onChange={({ currentTarget: { value } }) => onChange({ title: value })}
        />
        <div>
          <Button size="compact-xs" variant="default" onClick={onRemove}>
            Remove the query
          </Button>
        </div>
      </Stack>
    </Fieldset>
  );
}

/** The words that the type has for the columns of its data. */
function columnLabels({ schema }: Schemas['WidgetForm']): Readonly<Record<string, string>> {
  const binding: Schema = itemsOf(propertiesOf(schema).dataQueries ?? {}) ?? {};
  const columns = propertiesOf(propertiesOf(binding).datasetFields ?? {});
  return Object.fromEntries(
    Object.entries(columns).map(([name, { title }]) => [name, String(title ?? wordsOfName(name))]),
  );
}
