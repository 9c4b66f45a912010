import { Button, Group, Select, Stack, Text } from '@mantine/core';
import { useContext, useState } from 'react';
import type { ControlProps } from '../../../ui/drawn.ts';
import { OrExpression } from '../../../ui/expression.tsx';
import { CheckControl, JSONControl, NumberControl } from '../../../ui/schema-control.tsx';
import { shortText } from '../../../values/value.ts';
import { addVariable, nameFrom, type Variable, variablesOf, withVariable } from '../config.ts';
import { NameField } from '../name-field.tsx';
import type { PanelProps } from '../panel.ts';
import { renamed } from '../rename.ts';
import { UsedBy } from '../used-by.tsx';
import { PageOnCanvas, useLive } from '../values/page-now.tsx';
import { ValueText } from '../values/value-text.tsx';
import { PageValues } from '../values/values.tsx';

/** The variables of a page: values that widgets set and read while it is open. */
export function VariablesPanel(props: PanelProps) {
  const { document, edit } = props;
  const variables = variablesOf(document.config);
  const [opened, setOpened] = useState<string>();
  const add = () => {
    const key = nameFrom(
      'variable',
      variables.map((one) => one.key),
    );
    setOpened(key);
    edit((old) => addVariable(old, { key, type: 'string' }));
  };
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap">
        <Text component="h2" fw={600}>
          Variables
        </Text>
        <Button size="compact-sm" variant="default" onClick={add}>
          Add a variable
        </Button>
      </Group>
      <Text size="xs" c="dimmed">
        A variable is what the page remembers while it is open, such as the day that a viewer has chosen. Actions set
        it, and expressions read it. Each viewer has values of their own.
      </Text>
      {variables.length === 0 && <Text size="sm">None yet.</Text>}
      {variables.map((variable) => (
        <details key={variable.key} className="group" open={variable.key === opened}>
          <summary>
            <bdi>{variable.key}</bdi> <Now name={variable.key} />
          </summary>
          <VariableForm {...props} variable={variable} onRenamed={setOpened} />
        </details>
      ))}
    </Stack>
  );
}

function Now({ name }: { name: string }) {
  const page = useContext(PageOnCanvas);
  const outcome = useLive(page, `{{variables[${JSON.stringify(name)}]}}`);
  const value = outcome?.value;
  if (value === undefined || value === null) return null;
  return (
    <Text component="span" size="xs" fw={400}>
      = <bdi>{shortText(value)}</bdi>
    </Text>
  );
}

const types = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'boolean', label: 'Yes or no' },
  { value: 'array', label: 'List' },
  { value: 'object', label: 'Object' },
];

interface FormProps extends PanelProps {
  variable: Variable;
  onRenamed: (key: string) => void;
}

function VariableForm({ document, edit, onChoose, variable, onRenamed }: FormProps) {
  const { key, type, defaultValue, description } = variable;
  const others = variablesOf(document.config).filter((one) => one.key !== key);
  const set = (part: Readonly<Record<string, unknown>>) =>
    edit((old) => {
      const now = variablesOf(old.config).find((one) => one.key === key);
      const all = Object.entries({ ...now, ...part }).filter(([, value]) => value !== undefined);
      return now ? withVariable(old, key, Object.fromEntries(all) as Variable) : old;
    }, `variable ${key}`);
  return (
    <Stack gap="sm">
      <NameField
        label="Name"
        description={`Expressions read it by {{variables.${key}}}. They follow a new name`}
        value={key}
        taken={others.map((one) => one.key)}
        onRename={(to) => {
          onRenamed(to);
          edit((old) => renamed(old, { root: 'variables', from: key, to }));
        }}
      />
      <Select
        label="Kind of value"
        allowDeselect={false}
        data={types}
        value={typeof type === 'string' ? type : 'string'}
        onChange={(next) => set({ type: next ?? undefined, defaultValue: undefined })}
      />
      <PageValues document={document}>
        <OrExpression
          key={String(type)}
          root="queries"
          label="Value at first"
          description="Until an action sets it. Empty: none"
          error={undefined}
          required={false}
          disabled={false}
          value={defaultValue}
          onChange={(next) => set({ defaultValue: next })}
        >
          {(field) => <ValueControl {...field} type={type} />}
        </OrExpression>
      </PageValues>
      <ValueText
        label="Note"
        description="For those who build the page"
        value={description}
        onChange={(next) => set({ description: next })}
      />
      <UsedBy {...{ document, onChoose }} root="variables" name={key} />
      <div>
        <Button size="compact-xs" variant="default" onClick={() => edit((old) => withVariable(old, key, undefined))}>
          Remove the variable
        </Button>
      </div>
    </Stack>
  );
}

function ValueControl({ type, ...field }: ControlProps & { type: unknown }) {
  if (type === 'number') return <NumberControl {...field} hint="" />;
  if (type === 'boolean') return <CheckControl {...field} />;
  if (type === 'array' || type === 'object') return <JSONControl {...field} isCode />;
  const { label, description, value, onChange } = field;
  return <ValueText {...{ label, value, onChange }} description={String(description)} />;
}
