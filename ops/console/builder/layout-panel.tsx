import { NumberInput, Select, Stack, Text } from '@mantine/core';
import '@mantine/core/styles/NumberInput.css';
import type { Edit, PageDocument } from './document.ts';
import { COLUMNS, isSection, partOf, sections, setPart, spanOf } from './parts.ts';

interface Props {
  document: PageDocument;
  id: string;
  edit: (edit: Edit, what?: string) => void;
}

/** How a part of the layout places what is in it, and how large it is itself. */
export function LayoutPanel({ document, id, edit }: Props) {
  const part = partOf(document, id);
  const { node, position } = part ?? {};
  if (!node) return null;
  const set = (field: string, value: unknown) => edit(setPart(id, { [field]: value }), `${field} of ${id}`);
  const type = isSection(node.type) ? node.type : 'column';
  const isStack = type === 'stack';
  return (
    <Stack gap="sm">
      <Text component="h2" fw={600}>
        {position ? sections[type].word : 'The whole page'}
      </Text>
      <Select
        label="Places its parts"
        allowDeselect={false}
        data={Object.entries(sections).map(([value, { sentence }]) => ({ value, label: sentence }))}
        value={type}
        onChange={(value) => value && set('type', value)}
      />
      {isStack && (
        <Select
          label="Direction"
          allowDeselect={false}
          data={[
            { value: 'vertical', label: 'Below one another' },
            { value: 'horizontal', label: 'Side by side' },
          ]}
          value={node.direction === 'horizontal' ? 'horizontal' : 'vertical'}
          onChange={(value) => set('direction', value)}
        />
      )}
      <NumberField
        label="Room between the parts"
        description="In pixels; 16 where it is empty"
        value={node.gap}
        max={100}
        onValue={(value) => set('gap', value)}
      />
      {position && (
        <>
          <NumberField
            label="Width"
            description="In columns of twelve; its share of the row where it is empty"
            value={spanOf(node)}
            min={1}
            max={COLUMNS}
            onValue={(value) => set('span', value)}
          />
          <NumberField
            label="Height"
            description="In pixels; as high as its content where it is empty"
            value={node.sizing === 'fixed' ? node.height : undefined}
            min={20}
            max={5_000}
            onValue={(value) =>
              edit(setPart(id, { height: value, sizing: value === undefined ? undefined : 'fixed' }), `height of ${id}`)
            }
          />
        </>
      )}
    </Stack>
  );
}

interface FieldProps {
  label: string;
  description: string;
  value: unknown;
  min?: number;
  max: number;
  onValue: (value: number | undefined) => void;
}

function NumberField({ label, description, value, min = 0, max, onValue }: FieldProps) {
  return (
    <NumberInput
      {...{ label, description, min, max }}
      value={typeof value === 'number' ? value : ''}
      onChange={(next) => onValue(typeof next === 'number' ? next : undefined)}
    />
  );
}
