import { ActionIcon, Button, Group, Select, Stack, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { exitOfEdge, exitsOf, type ShownExit, shownExits } from '../graph/exits.ts';
import type { Kinds } from '../graph/kinds.ts';
import { bodiesAround, bodiesOf, connectionsOf } from '../graph/shape.ts';
import { Icon } from '../ui/icon.tsx';
import { type Draft, type DraftEdge, type DraftNode, nameIn, withEdge, withExit, withoutEdge } from './draft.ts';
import type { Where } from './edits.ts';

interface Props {
  draft: Draft;
  node: DraftNode;
  kinds: Kinds;
  onChange: (change: (draft: Draft) => Draft) => void;
  onSelect: (id: string) => void;
  onAdd: (where: Where) => void;
}

/** Where a step leads by each of its exits: the same as its handles on the canvas, by fields and buttons. */
export function ExitsOfStep(props: Props) {
  const { draft, node, kinds } = props;
  const own = draft.edges.filter(({ source }) => source === node.id);
  const exits = shownExits(node, own, kinds);
  const exitOf = ({ sourceHandle }: DraftEdge) =>
    exitOfEdge(kinds[node.type], node.data, sourceHandle) ?? sourceHandle ?? 'output';
  if (exits.length === 0) return null;
  return (
    <section aria-label="Where it leads">
      <Text size="sm" fw={600} component="h3">
        Then
      </Text>
      <Stack gap={6}>
        {exits.map((exit) => (
          <Exit key={exit.id} {...props} exit={exit} edges={own.filter((edge) => exitOf(edge) === exit.id)} />
        ))}
      </Stack>
    </section>
  );
}

function Exit({
  draft,
  node,
  kinds,
  onChange,
  onSelect,
  onAdd,
  exit,
  edges,
}: Props & { exit: ShownExit; edges: DraftEdge[] }) {
  return (
    <div className="exit-row">
      <Group gap={6} wrap="nowrap" justify="space-between">
        <Text size="sm" c={exit.isRefused ? 'var(--bad)' : exit.isFailing ? 'var(--wait)' : 'dimmed'} className="clip">
          {exit.isRefused ? `“${exit.name}” is no exit of this step` : exit.name}
        </Text>
        {!exit.isRefused && (
          <Group gap={4} wrap="nowrap">
            <LeadTo draft={draft} node={node} kinds={kinds} exit={exit} onChange={onChange} />
            <ActionIcon
              variant="default"
              size="md"
              aria-label={`Add a step: ${exit.name}`}
              title="Add a step here"
              onClick={() => onAdd({ from: { id: node.id, exit: exit.id } })}
            >
              <Icon name="plus" size={12} />
            </ActionIcon>
          </Group>
        )}
      </Group>
      {exit.isFailing && (
        <Text size="xs" c="var(--wait)" pl="sm">
          Nothing follows: a run that leaves by it fails.
        </Text>
      )}
      {edges.map(({ id, target }) => (
        <Group key={id} gap={6} wrap="nowrap" pl="sm">
          <Text size="sm" flex={1} className="clip">
            →{' '}
            <button type="button" className="plain link" onClick={() => onSelect(target)}>
              <bdi>{targetName(draft, kinds, node.id, target)}</bdi>
            </button>
          </Text>
          {exit.isRefused && (
            <Select
              aria-label={`Exit to ${nameIn(draft, target)}`}
              placeholder="By the exit …"
              size="xs"
              w={140}
              value={null}
              data={exitsOf(kinds[node.type], node.data).map((one) => ({ value: one.id, label: one.name }))}
              onChange={(next) => next && onChange((old) => withExit(old, id, next))}
            />
          )}
          <ActionIcon
            variant="default"
            size="md"
            aria-label={`Remove the way to ${nameIn(draft, target)}`}
            onClick={() => onChange((old) => withoutEdge(old, id))}
          >
            <Icon name="cross" size={12} />
          </ActionIcon>
        </Group>
      ))}
    </div>
  );
}

/** The name of a step to which a way leads; the step that repeats this one is reached by going on with the next item. */
function targetName(draft: Draft, kinds: Kinds, source: string, target: string): string {
  const isReturn = bodiesAround(source, bodiesOf(draft, kinds)).includes(target);
  return isReturn ? `Next item (${nameIn(draft, target)})` : nameIn(draft, target);
}

/** The steps that the API accepts behind an exit. They are looked for when they are asked for. */
function LeadTo({
  draft,
  node,
  kinds,
  exit,
  onChange,
}: Pick<Props, 'draft' | 'node' | 'kinds' | 'onChange'> & { exit: ShownExit }) {
  const [isOpen, setOpen] = useState(false);
  const targets = useMemo(() => {
    if (!isOpen) return [];
    const mayConnect = connectionsOf(draft, kinds);
    return draft.nodes.filter(({ id }) => mayConnect({ source: node.id, target: id, exit: exit.id }));
  }, [isOpen, draft, kinds, node.id, exit.id]);
  if (!isOpen)
    return (
      <Button variant="subtle" size="compact-xs" aria-label={`Connect: ${exit.name}`} onClick={() => setOpen(true)}>
        Connect
      </Button>
    );
  return (
    <Select
      aria-label={`Lead to, ${exit.name}`}
      placeholder="Lead to …"
      size="xs"
      w={170}
      searchable
      autoFocus
      defaultDropdownOpened
      nothingFoundMessage="No step can come behind it"
      value={null}
      data={targets.map((one) => ({ value: one.id, label: targetName(draft, kinds, node.id, one.id) }))}
      onBlur={() => setOpen(false)}
      onChange={(target) => {
        if (target) onChange((old) => withEdge(old, { source: node.id, target, exit: exit.id }));
        setOpen(false);
      }}
    />
  );
}
