import { ActionIcon, Autocomplete, Button, CloseButton, Group, Select, Stack, Text } from '@mantine/core';
import { OfferedInCode } from '../code/offered.ts';
import { Icon } from '../ui/icon.tsx';
import { OtherFaults, SchemaForm } from '../ui/schema-form.tsx';
import { propertiesOf } from '../ui/schema-shape.ts';
import {
  type Draft,
  type DraftNode,
  type Kind,
  nameOf,
  withConfig,
  withEdge,
  withExit,
  withoutEdge,
  withoutNode,
} from './draft.ts';
import { useNamesInCode } from './names-in-code.ts';

interface Props {
  draft: Draft;
  node: DraftNode;
  kind: Kind | undefined;
  faults: ReadonlyMap<string, string>;
  onChange: (change: (draft: Draft) => Draft) => void;
  onClose: () => void;
}

/** One node: its settings, and where it leads. */
export function NodePanel({ draft, node, kind, faults, onChange, onClose }: Props) {
  const fields = Object.keys(propertiesOf(kind?.schema ?? {}));
  const offered = useNamesInCode(draft);
  const others = [...faults].filter(([path]) => !fields.includes(path)).map(([path, text]) => `${path}: ${text}`);
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap" align="start">
        <div>
          <Text component="h2" fw={600}>
            <bdi>{nameOf(node)}</bdi>
          </Text>
          <Text size="xs" c="dimmed">
            {kind?.label ?? node.type} <code>{node.id}</code>
          </Text>
        </div>
        <CloseButton aria-label="Close the node" onClick={onClose} />
      </Group>
      <OtherFaults faults={others} />
      {kind?.exits.length !== 0 && <Exits draft={draft} node={node} kind={kind} onChange={onChange} />}
      {kind ? (
        <OfferedInCode value={offered}>
          <SchemaForm
            key={node.id}
            form={kind}
            value={node.data}
            faults={faults}
            onChange={(data) => onChange((old) => withConfig(old, node.id, data))}
          />
        </OfferedInCode>
      ) : (
        <Text size="sm">This server does not know the kind “{node.type}”.</Text>
      )}
      <Group justify="flex-end">
        <Button
          variant="default"
          size="xs"
          onClick={() => {
            onChange((old) => withoutNode(old, node.id));
            onClose();
          }}
        >
          Remove the node
        </Button>
      </Group>
    </Stack>
  );
}

function Exits({ draft, node, kind, onChange }: Pick<Props, 'draft' | 'node' | 'kind' | 'onChange'>) {
  const own = draft.edges.filter(({ source }) => source === node.id);
  const named = own.flatMap(({ sourceHandle }) => sourceHandle ?? []);
  const exits = [...new Set([...(kind?.exits ?? []), ...named])];
  const title = (id: string) => draft.nodes.find((one) => one.id === id);
  const targets = draft.nodes.filter(({ id, type }) => id !== node.id && type !== 'start');
  return (
    <section aria-label="Where it leads">
      <Text size="sm" fw={600} component="h3">
        Then
      </Text>
      <Stack gap={6}>
        {own.map(({ id, target, sourceHandle }) => {
          const to = title(target);
          return (
            <Group key={id} gap={6} wrap="nowrap">
              <Autocomplete
                aria-label={`Exit to ${to ? nameOf(to) : target}`}
                size="xs"
                w={120}
                data={exits}
                placeholder={kind?.usualExit ?? ''}
                value={sourceHandle ?? ''}
                onChange={(exit) => onChange((old) => withExit(old, id, exit === '' ? null : exit))}
              />
              <Text size="sm" flex={1} className="clip">
                → <bdi>{to ? nameOf(to) : target}</bdi>
              </Text>
              <ActionIcon
                variant="default"
                size="sm"
                aria-label={`Remove the way to ${to ? nameOf(to) : target}`}
                onClick={() => onChange((old) => withoutEdge(old, id))}
              >
                <Icon name="cross" size={12} />
              </ActionIcon>
            </Group>
          );
        })}
        <Select
          aria-label="Lead to another node"
          placeholder="Lead to …"
          size="xs"
          searchable
          value={null}
          data={targets.map((one) => ({ value: one.id, label: nameOf(one) }))}
          onChange={(target) => target && onChange((old) => withEdge(old, { source: node.id, target, exit: null }))}
        />
      </Stack>
    </section>
  );
}
