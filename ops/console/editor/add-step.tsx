import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { Button, Group, Modal, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { exitOfEdge, exitsOf, NEXT, onwardExits } from '../graph/exits.ts';
import { type Kind, type Kinds, wordsOf } from '../graph/kinds.ts';
import { type Draft, type DraftEdge, nameIn, nameOf } from './draft.ts';
import type { Where } from './edits.ts';
import { KindList } from './kind-list.tsx';
import { noteUse } from './kind-uses.ts';

interface Props {
  draft: Draft;
  kinds: Kinds;
  /** Without an exit or an edge, a person chooses behind which step. */
  where: Where;
  /** The step that is offered first. */
  selected: string | undefined;
  onAdd: (kind: Kind, where: Where) => void;
  onClose: () => void;
}

/** Offers steps, by group and by words, and asks for the exits that lead to one and on from it. */
export function AddStep({ draft, kinds, where, selected, onAdd, onClose }: Props) {
  const isChosen = where.edge !== undefined || where.from !== undefined;
  const [behind, setBehind] = useState(() => firstBehind(draft, kinds, selected));
  const [isBeside, setBeside] = useState(false);
  const from = where.from ?? (behind?.exit === undefined ? undefined : { id: behind.id, exit: behind.exit });
  const edge = where.at
    ? undefined
    : (draft.edges.find(({ id }) => id === where.edge) ?? (from && edgeOf(draft, kinds, from)));
  const isBetween = edge !== undefined && !isBeside;
  const [kind, setKind] = useState<Kind>();
  const isReady = isChosen || behind?.exit !== undefined || (draft.nodes.length === 0 && !behind);
  const add = (chosen: Kind, onward?: string) => {
    noteUse(chosen.nodeType);
    if (chosen.begins) onAdd(chosen, {});
    else onAdd(chosen, isBetween ? { edge: edge.id, onward } : { from, at: where.at });
  };
  const choose = (chosen: Kind) => {
    const [only, ...others] = forward(chosen);
    if (isBetween && others.length > 0) setKind(chosen);
    else add(chosen, only?.id);
  };
  const hasStart = draft.nodes.some(({ type }) => kinds[type]?.begins);
  const offered = useMemo(
    () =>
      Object.values(kinds).filter(({ begins, exits }) =>
        begins ? !hasStart && !isChosen : !isBetween || exits.length > 0,
      ),
    [kinds, hasStart, isChosen, isBetween],
  );
  return (
    <Modal opened onClose={onClose} title={titleOf({ draft, kinds, where })} size="lg">
      {kind && edge ? (
        <OnwardExit
          kind={kind}
          target={nameIn(draft, edge.target)}
          onBack={() => setKind(undefined)}
          onChoose={(exit) => add(kind, exit)}
        />
      ) : (
        <Stack gap="xs">
          {!isChosen && behind && <Behind draft={draft} kinds={kinds} behind={behind} onChange={setBehind} />}
          {edge && where.edge === undefined && (
            <SegmentedControl
              size="xs"
              aria-label="Where it comes"
              value={isBeside ? 'beside' : 'between'}
              onChange={(value) => setBeside(value === 'beside')}
              data={[
                { value: 'between', label: `Before “${nameIn(draft, edge.target)}”` },
                { value: 'beside', label: 'As one more branch' },
              ]}
            />
          )}
          <KindList kinds={offered} isReady={isReady} onChoose={choose} />
        </Stack>
      )}
    </Modal>
  );
}

interface BehindStep {
  id: string;
  /** Undefined until it is chosen: a step with several exits has none that goes without saying. */
  exit: string | undefined;
}

function firstBehind(draft: Draft, kinds: Kinds, selected: string | undefined): BehindStep | undefined {
  const leadsOn = draft.nodes.filter(({ type, data }) => exitsOf(kinds[type], data).length > 0);
  const node = leadsOn.find(({ id }) => id === selected) ?? leadsOn.at(-1);
  return node && { id: node.id, exit: onlyExit(draft, kinds, node.id) };
}

function onlyExit(draft: Draft, kinds: Kinds, id: string): string | undefined {
  const [only, ...others] = forwardOf(draft, kinds, id);
  return others.length === 0 ? only?.id : undefined;
}

function forwardOf(draft: Draft, kinds: Kinds, id: string) {
  const node = draft.nodes.find((one) => one.id === id);
  return node ? exitsOf(kinds[node.type], node.data).filter((exit) => exit.id !== 'error') : [];
}

/** The exits that a new step may lead on by. */
function forward(kind: Kind) {
  return onwardExits(kind, kind.defaultValue as Record<string, unknown>);
}

function edgeOf(draft: Draft, kinds: Kinds, { id, exit }: { id: string; exit: string }): DraftEdge | undefined {
  const node = draft.nodes.find((one) => one.id === id);
  if (!node) return undefined;
  const own = draft.edges.filter(
    ({ source, sourceHandle }) => source === id && exitOfEdge(kinds[node.type], node.data, sourceHandle) === exit,
  );
  return own.length === 1 ? own[0] : undefined;
}

function titleOf({ draft, kinds, where: { from, edge } }: Pick<Props, 'draft' | 'kinds' | 'where'>): string {
  const between = draft.edges.find(({ id }) => id === edge);
  if (between) return `Add a step between “${nameIn(draft, between.source)}” and “${nameIn(draft, between.target)}”`;
  if (!from) return 'Add a step';
  const node = draft.nodes.find(({ id }) => id === from.id);
  const exit = node && exitsOf(kinds[node.type], node.data).find(({ id }) => id === from.exit);
  const by = exit && exit.name !== NEXT ? `, ${exit.name}` : '';
  return `Add a step behind “${nameIn(draft, from.id)}”${by}`;
}

interface BehindProps {
  draft: Draft;
  kinds: Kinds;
  behind: BehindStep;
  onChange: (behind: BehindStep) => void;
}

function Behind({ draft, kinds, behind, onChange }: BehindProps) {
  const steps = draft.nodes.filter(({ type, data }) => exitsOf(kinds[type], data).length > 0);
  const node = draft.nodes.find(({ id }) => id === behind.id);
  const exits = node ? exitsOf(kinds[node.type], node.data) : [];
  return (
    <Group grow align="start">
      <Select
        label="Behind"
        size="xs"
        searchable
        allowDeselect={false}
        data={steps.map((one) => ({ value: one.id, label: nameOf(one) }))}
        value={behind.id}
        onChange={(id) => id && onChange({ id, exit: onlyExit(draft, kinds, id) })}
      />
      {exits.length > 1 && (
        <Select
          label="By its exit"
          size="xs"
          allowDeselect={false}
          placeholder="Choose one first"
          error={behind.exit === undefined}
          data={exits.map(({ id, name }) => ({ value: id, label: name }))}
          value={behind.exit ?? null}
          onChange={(exit) => exit && onChange({ ...behind, exit })}
        />
      )}
    </Group>
  );
}

interface OnwardProps {
  kind: Kind;
  target: string;
  onBack: () => void;
  onChoose: (exit: string | undefined) => void;
}

/** A step with several exits that comes between two others: a person says which of them leads on. */
function OnwardExit({ kind, target, onBack, onChoose }: OnwardProps) {
  const { word } = wordsOf(kind.nodeType, kind);
  return (
    <Stack gap="xs">
      <Text size="sm">
        Which exit of the {word.toLowerCase()} leads on to “{target}”?
      </Text>
      {forward(kind).map(({ id, name }, index) => (
        <Button key={id} variant="default" data-autofocus={index === 0 || undefined} onClick={() => onChoose(id)}>
          {name}
        </Button>
      ))}
      <Button variant="subtle" onClick={() => onChoose(undefined)}>
        None of them yet
      </Button>
      <Group>
        <Button size="xs" variant="subtle" onClick={onBack}>
          Back to the steps
        </Button>
      </Group>
    </Stack>
  );
}
