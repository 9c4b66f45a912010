import { Button, Group, Skeleton } from '@mantine/core';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import type { Kind, Kinds } from '../graph/kinds.ts';
import type { Point } from '../graph/shown.ts';
import { useNamed } from '../graph/use-named.ts';
import { focusPanel, focusStep, Workspace, WorkspaceBar } from '../graph/workspace.tsx';
import { useChosenStep } from '../open-page/open-page.ts';
import { cardsOf, type Plan } from '../plan/planned.ts';
import type { StepTab } from '../testing/step-tabs.tsx';
import { StartProblem } from '../testing/step-tests.tsx';
import type { Tests } from '../testing/use-tests.ts';
import { countOf } from '../ui/count.ts';
import { Icon } from '../ui/icon.tsx';
import { AddStep } from './add-step.tsx';
import { ChosenStep } from './chosen-step.tsx';
import { chosenSteps, copied, stepsIn, withCopies } from './clipboard.ts';
import { type Draft, type Faults, NOTE, nameIn } from './draft.ts';
import { tidied, type Where, withDisabled, withoutSteps, withStep } from './edits.ts';
import { useFailedFields } from './failed-fields.ts';
import { withFirstValues } from './first-values.ts';
import type { Proposed } from './marks.ts';
import { withNote, withoutNotes } from './notes.ts';
import { StepList } from './step-list.tsx';
import { ShownRun } from './test-results.tsx';
import { useDrawing } from './use-drawing.ts';
import { useKeys } from './use-keys.ts';
import { useProposed } from './use-proposed.tsx';
import { useSought } from './use-sought.ts';
import { useTested } from './use-tested.ts';
import { useTitleOfNamed } from './use-titles.ts';
import { UndoButtons, type UndoMoves } from './use-undo.tsx';

const Canvas = lazy(() => import('./canvas.tsx').then(({ Canvas: one }) => ({ default: one })));
const PlanBanner = lazy(() => import('../plan/plan-banner.tsx').then(({ PlanBanner: one }) => ({ default: one })));
const PlannedStep = lazy(() => import('../plan/planned-step.tsx').then(({ PlannedStep: one }) => ({ default: one })));

interface Props {
  tenantID: string;
  draft: Draft;
  kinds: Kinds;
  faults: Faults;
  /** Faults of the options of the workflow, by dotted paths. */
  optionFaults: ReadonlyMap<string, string>;
  moves: number;
  undo: UndoMoves;
  /** Undefined: the graph is shown and not tested. */
  tests: Tests | undefined;
  /** Shown until it is closed. */
  plan: Plan | undefined;
  /** The draft with a change that is proposed, which the graph shows. */
  proposal: Proposed | undefined;
  /** The graph has changes that are not saved: a plan does not have them. */
  isDirty: boolean;
  onPlanAgain: () => void;
  onPlanClose: () => void;
  isReadOnly: boolean;
  /** The step that is chosen at first. */
  opened?: string | undefined;
  /** The step that is to be chosen now. */
  sought?: { id: string } | undefined;
  /** The run that one comes from. */
  run?: string | undefined;
  onChange: (change: (draft: Draft) => Draft, what?: string) => void;
}

const none: ReadonlySet<string> = new Set();

/** The graph with its tools, the list of its steps, and the panel of the one that is chosen. */
export function Studio(props: Props) {
  const { tenantID, draft, kinds, faults, optionFaults, moves, undo, tests, plan, isReadOnly, opened, onChange } =
    props;
  const [selection, setSelection] = useState(opened === undefined ? none : new Set([opened]));
  const [adding, setAdding] = useState<Where>();
  const [sought, setSought] = useState(opened === undefined ? undefined : { id: opened });
  const [tidyings, setTidyings] = useState(0);
  const [said, setSaid] = useState('');
  const { tested, outdated } = useTested(tests, draft);
  const drawn = useRef(draft);
  drawn.current = draft;
  const nameOf = (id: string) => nameIn(drawn.current, id);
  // The reasons are those of the graph that was planned.
  const planned = useMemo(
    () => plan && cardsOf(plan, { graph: drawn.current, kinds, nameOf: (id) => nameIn(drawn.current, id) }),
    [plan, kinds],
  );
  const [tab, setTab] = useState<StepTab>('settings');
  const named = useNamed(tenantID, draft.nodes);
  const { shown, marks, banner } = useProposed(draft, props.proposal);
  const drawing = useDrawing(shown, kinds);
  const [only, ...others] = selection;
  useChosenStep(selection);
  const node = others.length === 0 ? draft.nodes.find(({ id }) => id === only) : undefined;
  const failed = useFailedFields(tests, node);
  useTitleOfNamed({ tenantID, node, kinds, onChange });
  const select = (id: string) => {
    setSelection(new Set([id]));
    setSought({ id });
  };
  useSought(props.sought, select);
  // The result of a test that was begun at a step is what one looks for.
  const { data: startedID, variables: begun } = tests?.start ?? {};
  const isOfStep = begun?.target.kind !== 'all';
  useEffect(() => {
    if (startedID !== undefined && isOfStep) setTab('result');
  }, [startedID, isOfStep]);
  const waitingID = [...tested.values()].find(({ shown: { status } }) => status === 'SUSPENDED')?.nodeID;
  const showWaiting = () => {
    setTab('result');
    if (waitingID !== undefined) select(waitingID);
  };
  const chosen = useRef(only);
  chosen.current = only;
  // A result takes more room: the card of the step is brought out from behind it.
  useEffect(() => {
    const isWide = tab === 'result' || startedID !== undefined;
    if (isWide && chosen.current !== undefined) setSought({ id: chosen.current });
  }, [tab, startedID]);
  const add = (kind: Kind, where: Where) => {
    const [added, id] = withStep(draft, kinds, kind, where);
    const next = withFirstValues(added, kinds, id, tested);
    onChange(() => next);
    setAdding(undefined);
    setTab('settings');
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
          {tests && (
            <ShownRun
              tenantID={tenantID}
              tests={tests}
              from={props.run}
              onWaiting={waitingID === undefined ? undefined : showWaiting}
            />
          )}
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
            <Button size="xs" variant="default" title="Note" onClick={addNote}>
              <Icon name="note" size={14} />
              <span className="bar-word">&nbsp;Note</span>
            </Button>
            <Button size="xs" onClick={() => setAdding({})}>
              <Icon name="plus" />
              &nbsp;Add<span className="bar-word">&nbsp;a step</span>
            </Button>
          </Group>
        )}
      </WorkspaceBar>
      {tests?.start.error && begun?.target.kind === 'all' && (
        <StartProblem error={tests.start.error} sent={begun.nodes} nameOf={nameOf} />
      )}
      {plan && (
        <Suspense>
          <PlanBanner
            plan={plan}
            isOutdated={props.isDirty}
            nameOf={nameOf}
            onSelect={select}
            onAgain={props.onPlanAgain}
            onClose={props.onPlanClose}
          />
        </Suspense>
      )}
      {banner}
      <Suspense fallback={<Skeleton className="graph" />}>
        <Canvas
          draft={shown}
          drawing={drawing}
          kinds={kinds}
          named={named}
          selection={selection}
          faults={faults}
          tested={tested}
          outdated={outdated}
          planned={planned}
          plan={plan}
          marks={marks}
          sought={sought}
          tidied={tidyings}
          isReadOnly={isReadOnly}
          onSelect={setSelection}
          onSeek={(id) => setSought({ id })}
          onChange={(next) => onChange(next, 'graph')}
          onAdd={setAdding}
        />
      </Suspense>
      <StepList
        draft={draft}
        kinds={kinds}
        named={named}
        faults={faults}
        tested={tested}
        outdated={outdated}
        planned={planned}
        selection={selection}
        onSelect={select}
      />
      {node && (
        <ChosenStep
          {...{ tenantID, draft, node, kinds, tests, tested, isReadOnly, failed, optionFaults, moves, nameOf, tab }}
          faults={faults.get(node.id)}
          isOutdated={outdated.has(node.id)}
          planned={
            plan && (
              <Suspense fallback={<Skeleton h={40} />}>
                <PlannedStep card={planned?.get(node.id)} nameOf={nameOf} />
              </Suspense>
            )
          }
          onTab={setTab}
          onChange={onChange}
          onSelect={select}
          onAdd={setAdding}
          onDuplicate={duplicate}
          onDisable={toggleDisabled}
          onRemove={remove}
          onClose={() => setSelection(none)}
        />
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
