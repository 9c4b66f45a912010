import { Button, Group, Skeleton, TextInput } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { Kind, Kinds } from '../graph/kinds.ts';
import type { Point } from '../graph/shown.ts';
import { focusPanel, focusStep, Workspace, WorkspaceBar, WorkspacePanel } from '../graph/workspace.tsx';
import { countOf } from '../ui/count.ts';
import { Icon } from '../ui/icon.tsx';
import { AddStep } from './add-step.tsx';
import { chosenSteps, copied, stepsIn, withCopies } from './clipboard.ts';
import { type Draft, type Faults, NOTE } from './draft.ts';
import { tidied, type Where, withDisabled, withoutSteps, withStep } from './edits.ts';
import { NodePanel } from './node-panel.tsx';
import { withNote, withoutNotes } from './notes.ts';
import { StepList } from './step-list.tsx';
import { type Tested, TestResults } from './test-results.tsx';
import { useDrawing } from './use-drawing.ts';
import { useKeys } from './use-keys.ts';
import { useNamed } from './use-named.ts';
import { UndoButtons, type UndoMoves } from './use-undo.tsx';

const StepValues = lazy(() => import('./step-values.tsx').then(({ StepValues: one }) => ({ default: one })));
const Canvas = lazy(() => import('./canvas.tsx').then(({ Canvas: one }) => ({ default: one })));

interface Props {
  tenantID: string;
  draft: Draft;
  kinds: Kinds;
  faults: Faults;
  /** Faults of the options of the workflow, by dotted paths. */
  optionFaults: ReadonlyMap<string, string>;
  moves: number;
  undo: UndoMoves;
  /** The run of the last test. */
  testID: string | undefined;
  isReadOnly: boolean;
  /** The step that is chosen at first. */
  opened?: string | undefined;
  title: string;
  onTitle: (title: string) => void;
  onChange: (change: (draft: Draft) => Draft, what?: string) => void;
}

const none: ReadonlySet<string> = new Set();
const noFaults: ReadonlyMap<string, string> = new Map();
const untested: Tested = new Map();

/** The graph with its tools, the list of its steps, and the panel of the one that is chosen. */
export function Studio(props: Props) {
  const { tenantID, draft, kinds, faults, optionFaults, moves, undo, testID, isReadOnly, opened, title, onTitle, onChange } =
    props;
  const [selection, setSelection] = useState(opened === undefined ? none : new Set([opened]));
  const [adding, setAdding] = useState<Where>();
  const [sought, setSought] = useState(opened === undefined ? undefined : { id: opened });
  const [tidyings, setTidyings] = useState(0);
  const [said, setSaid] = useState('');
  const [tested, setTested] = useState(untested);
  const named = useNamed(tenantID, draft);
  const drawing = useDrawing(draft, kinds);
  const [only, ...others] = selection;
  const node = others.length === 0 ? draft.nodes.find(({ id }) => id === only) : undefined;
  const select = (id: string) => {
    setSelection(new Set([id]));
    setSought({ id });
  };
  const add = (kind: Kind, where: Where) => {
    const [next, id] = withStep(draft, kinds, kind, where);
    onChange(() => next);
    setAdding(undefined);
    select(id);
  };
  const insert = (steps: Draft, verb: string) => {
    const [next, added] = withCopies(draft, kinds, steps);
    onChange(() => next);
    setSelection(new Set(added));
    if (added[0] !== undefined) setSought({ id: added[0] });
    setSaid(`${countOf(added.length, 'step')} ${verb}. Connect ${added.length === 1 ? 'it' : 'them'} to the others.`);
  };
  const paste = (text: string) => {
    const found = stepsIn(text, kinds);
    if ('refused' in found) setSaid(found.refused);
    else insert(found.steps, 'pasted');
  };
  const duplicate = () => {
    const steps = chosenSteps(draft, kinds, selection);
    if (steps.nodes.length > 0) insert(steps, 'duplicated');
  };
  const remove = () => {
    if (selection.size === 0) return;
    onChange((old) => withoutNotes(withoutSteps(old, kinds, selection), selection));
    setSelection(none);
  };
  const toggleDisabled = () => {
    const chosen = draft.nodes.filter(({ id, type }) => selection.has(id) && !kinds[type]?.begins);
    const isDisabled = chosen.some(({ data }) => data.isDisabled !== true);
    onChange((old) => withDisabled(old, new Set(chosen.map(({ id }) => id)), isDisabled));
  };
  const addNote = () => {
    const [next, id] = withNote(draft, besideOf(drawing.layout.positions, only));
    onChange(() => next);
    select(id);
  };
  const change = (act: () => void) => (isReadOnly ? () => undefined : act);
  useKeys({
    copy: () => (selection.size > 0 ? copied(draft, kinds, selection) : undefined),
    paste: (text) => (isReadOnly ? undefined : paste(text)),
    selectAll: () => setSelection(new Set(draft.nodes.map(({ id }) => id))),
    remove: change(remove),
    duplicate: change(duplicate),
    toggleDisabled: change(toggleDisabled),
    add: change(() => setAdding({})),
    addNote: change(addNote),
    openPanel: focusPanel,
    closePanel: () => {
      focusStep(only ?? '');
      setSelection(none);
    },
  });
  return (
    <Workspace>
      <WorkspaceBar>
        <Group gap="xs">
          <TextInput
            aria-label="Title"
            size="xs"
            w={220}
            readOnly={isReadOnly}
            value={title}
            onChange={(event) => onTitle(event.currentTarget.value)}
          />
          {testID !== undefined && <TestResults tenantID={tenantID} instanceID={testID} onResults={setTested} />}
        </Group>
        <span role="status" className="note">
          {others.length > 0 ? `${selection.size} chosen` : said}
        </span>
        {others.length > 0 && !isReadOnly && (
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={duplicate}>
              Duplicate
            </Button>
            <Button size="xs" variant="default" onClick={toggleDisabled}>
              Disable or enable
            </Button>
            <Button size="xs" variant="default" onClick={remove}>
              Remove
            </Button>
          </Group>
        )}
        {!isReadOnly && (
          <Group gap="xs">
            <UndoButtons {...undo} />
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                onChange(tidied);
                setTidyings((before) => before + 1);
              }}
            >
              Tidy up
            </Button>
            <Button size="xs" variant="default" leftSection={<Icon name="note" size={14} />} onClick={addNote}>
              Note
            </Button>
            <Button size="xs" leftSection={<Icon name="plus" />} onClick={() => setAdding({})}>
              Add a step
            </Button>
          </Group>
        )}
      </WorkspaceBar>
      <Suspense fallback={<Skeleton className="graph" />}>
        <Canvas
          draft={draft}
          drawing={drawing}
          kinds={kinds}
          named={named}
          selection={selection}
          faults={faults}
          tested={tested}
          sought={sought}
          tidied={tidyings}
          isReadOnly={isReadOnly}
          onSelect={setSelection}
          onSeek={(id) => setSought({ id })}
          onChange={(next) => onChange(next, 'graph')}
          onAdd={setAdding}
        />
      </Suspense>
      <StepList draft={draft} kinds={kinds} named={named} faults={faults} selection={selection} onSelect={select} />
      {node && (
        <WorkspacePanel label="Step">
          <Suspense fallback={<Skeleton h={200} />}>
            <StepValues key={node.id} {...{ tenantID, draft, node, kinds, testID, tested }}>
              <NodePanel
                key={`${node.id} ${moves}`}
                draft={draft}
                node={node}
                kinds={kinds}
                faults={faults.get(node.id) ?? noFaults}
                optionFaults={optionFaults}
                isReadOnly={isReadOnly}
                onChange={(next) => onChange(next, `step ${node.id}`)}
                onSelect={select}
                onAdd={setAdding}
                onDuplicate={duplicate}
                onDisable={toggleDisabled}
                onRemove={remove}
                onClose={() => setSelection(none)}
              />
            </StepValues>
          </Suspense>
        </WorkspacePanel>
      )}
      {adding && (
        <AddStep
          draft={draft}
          kinds={kinds}
          where={adding}
          selected={only}
          onAdd={add}
          onClose={() => setAdding(undefined)}
        />
      )}
    </Workspace>
  );
}

/** The position of a new note: to the left of this step, where no edge leads, or of the first one. */
function besideOf(positions: ReadonlyMap<string, Point>, id: string | undefined): Point {
  const at = positions.get(id ?? '') ?? [...positions.values()][0] ?? { x: 0, y: 0 };
  return { x: at.x - NOTE.width - 40, y: at.y };
}
