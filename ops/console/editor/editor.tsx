import '../graph/graph.css';
import '../plan/plan.css';
import '../testing/testing.css';
import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentProps, lazy, Suspense, useMemo, useState } from 'react';
import { installedWith } from '../client/installed.ts';
import { useMay } from '../client/may.ts';
import { APIError } from '../client/rest.ts';
import type { Issue, Schemas } from '../client/types.ts';
import { saveWorkflow, workflowUsageRead } from '../client/workflows.ts';
import type { Kinds } from '../graph/kinds.ts';
import { openExits } from '../graph/open-exits.ts';
import { useProposal } from '../open-page/open-page.ts';
import type { Plan } from '../plan/planned.ts';
import { useTests } from '../testing/use-tests.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { bodyOf, draftOf, faultsOf, nameIn, optionFaultsOf, optionsOf, partBody } from './draft.ts';
import { EditorHead, type HeadDialog } from './head.tsx';
import { useLastTest } from './last-test.ts';
import type { Proposed } from './marks.ts';
import { useOpenWorkflow } from './open-workflow.ts';
import { PausedSince, useResume } from './pause.tsx';
import { dropDraft, type StoredDraft } from './stored-draft.ts';
import { Studio } from './studio.tsx';
import { useStoredDraft } from './use-stored-draft.ts';
import { useUndo } from './use-undo.tsx';

const WhatWasInstalled = lazy(() => import('./installed.tsx').then(({ WhatWasInstalled: one }) => ({ default: one })));
const Versions = lazy(() => import('./versions.tsx').then(({ Versions: one }) => ({ default: one })));
const WorkflowSettings = lazy(() =>
  import('./workflow-settings.tsx').then(({ WorkflowSettings: one }) => ({ default: one })),
);
const TestDialog = lazy(() => import('../testing/test-dialog.tsx').then(({ TestDialog: one }) => ({ default: one })));
const PlanDialog = lazy(() => import('../plan/plan-dialog.tsx').then(({ PlanDialog: one }) => ({ default: one })));
const Restore = lazy(() => import('./restore.tsx').then(({ Restore: one }) => ({ default: one })));
const HeadDialogs = lazy(() => import('./head-dialogs.tsx').then(({ HeadDialogs: one }) => ({ default: one })));

type Workflow = Schemas['Workflow'];
const none: readonly Issue[] = [];

interface Props {
  tenantID: string;
  workflow: Workflow;
  kinds: Kinds;
  /** The step to begin with. */
  step: string | undefined;
  /** The run that one comes from. */
  run: string | undefined;
  /** Drops what is not saved. */
  onReload: () => Promise<void>;
}

export function Editor({ tenantID, workflow, kinds, step, run, onReload }: Props) {
  const ids = { tenantID, workflowID: workflow.id };
  const queries = useQueryClient();
  /** The version that the draft goes on from. */
  const [base, setBase] = useState(workflow);
  const [title, setTitle] = useState(workflow.title);
  const { value: draft, change, moves, undo } = useUndo(() => draftOf(workflow));
  const [saved, setSaved] = useState(draft);
  const [dialog, setDialog] = useState<HeadDialog>();
  const [shownStep, showStep] = useState<{ id: string }>();
  const [plan, setPlan] = useState<Plan>();
  const isDirty = draft !== saved || title !== base.title;

  const save = useMutation({
    onMutate: () => draft,
    mutationFn: async ({ isDraft, over = base.versionNumber }: { isDraft: boolean; over?: number }) => {
      const options = optionsOf(draft);
      // Options that are not changed stay those of an author who has saved meanwhile.
      const isOther = JSON.stringify(options) !== JSON.stringify(base.workflowOptions);
      const workflowOptions = options as Schemas['WorkflowUpdate']['workflowOptions'];
      const change = { title, ...bodyOf(draft), ...(isOther && { workflowOptions }), draft: isDraft };
      const next = await saveWorkflow(ids, change, over);
      return { next, sent: draft };
    },
    onSuccess: ({ next, sent }) => {
      setBase(next);
      setSaved(sent);
      void queries.invalidateQueries({ queryKey: ['workflows', tenantID] });
    },
    onError: (error) => {
      const isOfOptions =
        error instanceof APIError && error.issues.some(({ path: [field] }) => field === 'workflowOptions');
      if (isOfOptions) setDialog('settings');
    },
  });
  /** The number of the version of the graph as it is in the editor. */
  const savedVersion = async () => {
    if (!isDirty) return base.versionNumber;
    return (await save.mutateAsync({ isDraft: true })).next.versionNumber;
  };
  const refused = save.error instanceof APIError ? save.error : undefined;
  const issues = refused?.issues ?? none;
  const sent = save.context ?? draft;
  const faults = useMemo(() => faultsOf(issues, sent, draft), [issues, sent, draft]);
  const optionFaults = useMemo(() => optionFaultsOf(issues, sent, draft), [issues, sent, draft]);
  const isCorrected = issues.length > 0 && optionFaults.size === 0 && faults.size === 0;
  const noteChange = (next: Partial<Workflow>) => setBase((before) => ({ ...before, ...next }));
  const resume = useResume(ids, noteChange);
  const starters = useQuery({ ...workflowUsageRead(ids), refetchOnWindowFocus: false }).data?.listeners ?? [];
  const open = useMemo(() => openExits(draft, kinds), [draft, kinds]);
  const mayChange = useMay(`workflow:${workflow.id}`)('workflow.update');
  useUnsaved(isDirty, () => save.mutateAsync({ isDraft: true }));
  const { found, decided } = useStoredDraft({ workflow, isDirty, versionNumber: base.versionNumber, title, draft });
  const reload = () => {
    dropDraft(workflow.id);
    return onReload();
  };
  const [testID, noteTest] = useLastTest(workflow.id, run);
  // Safe: the assistant has made it of the draft that this editor has given.
  const proposal = useProposal(workflow.id) as Proposed | undefined;
  const tests = useTests({
    ...{ ...ids, kinds, testID, noteTest },
    ...{ graph: draft, options: optionsOf(draft), bodyOf: partBody },
  });
  /** How many changes were taken from the assistant: fields that are open are drawn anew with each. */
  const [taken, setTaken] = useState(0);
  const take: typeof change = (next) => {
    change(next);
    setTaken(taken + 1);
  };
  const restore = ({ versionNumber, ...stored }: StoredDraft) => {
    take(() => stored.draft);
    setTitle(stored.title);
    // If another version was saved since, saving says so.
    noteChange({ versionNumber });
    decided();
  };
  useOpenWorkflow({ workflow: base, title, draft, kinds, issues, mayChange, results: tests.results, onTake: take });
  return (
    <div className="studio-page">
      <EditorHead
        ids={ids}
        base={base}
        title={title}
        onTitle={setTitle}
        isDirty={isDirty}
        isSaving={save.isPending}
        hasEvents={starters.length > 0}
        onTest={() => tests.ask({ kind: 'all' })}
        onSave={({ isDraft }) => (isDraft || open.length === 0 ? save.mutate({ isDraft }) : setDialog('open exits'))}
        onOpen={setDialog}
        onResume={() => resume.mutate()}
      />
      <div className="said">
        <Installed {...ids} />
        <Found {...{ found, mayChange }} versionNumber={base.versionNumber} onRestore={restore} onDiscard={decided} />
        {base.pausedAt && <PausedSince workflowID={workflow.id} pausedAt={base.pausedAt} resume={resume} />}
        {refused?.code === 'PRECONDITION_FAILED' ? (
          <Conflict
            onTheirs={reload}
            onMine={() => save.mutate({ isDraft: true, over: refused.versionNumber ?? base.versionNumber })}
          />
        ) : (
          save.error && !isCorrected && <Refusal error={save.error} isShownAtSteps={faults.size > 0} />
        )}
      </div>
      <Studio
        tenantID={tenantID}
        draft={draft}
        kinds={kinds}
        faults={faults}
        optionFaults={optionFaults}
        moves={moves + taken}
        undo={undo}
        tests={tests}
        plan={plan}
        proposal={proposal}
        isDirty={isDirty}
        onPlanAgain={() => setDialog('plan')}
        onPlanClose={() => setPlan(undefined)}
        isReadOnly={!mayChange}
        opened={step}
        sought={shownStep}
        run={run}
        onChange={change}
      />
      <Suspense>
        {dialog === 'versions' && (
          <Versions ids={ids} isDirty={isDirty} onReload={reload} onClose={() => setDialog(undefined)} />
        )}
        {dialog === 'settings' && (
          <WorkflowSettings
            ids={ids}
            workflow={base}
            draft={draft}
            kinds={kinds}
            faults={optionFaults}
            testID={testID}
            onChange={change}
            onChanged={noteChange}
            onClose={() => setDialog(undefined)}
          />
        )}
        {tests.asked && (
          <TestDialog
            ids={ids}
            tests={tests}
            target={tests.asked}
            nodes={draft.nodes}
            definitions={draft.options.inputDefinitions}
            nameOf={(id) => nameIn(draft, id)}
          />
        )}
        {dialog === 'plan' && (
          <PlanDialog
            ids={ids}
            definitions={draft.options.inputDefinitions}
            args={plan?.args ?? tests.settings.args}
            isDirty={isDirty}
            savedVersion={savedVersion}
            onPlan={setPlan}
            onClose={() => setDialog(undefined)}
          />
        )}
        {dialog && (
          <HeadDialogs
            ids={ids}
            base={base}
            dialog={dialog}
            listeners={starters}
            isDirty={isDirty}
            savedVersion={savedVersion}
            nameOf={(id) => nameIn(draft, id)}
            onPublish={() => save.mutateAsync({ isDraft: false })}
            open={open}
            onShow={(id) => {
              showStep({ id });
              setDialog(undefined);
            }}
            onChanged={noteChange}
            onClose={() => setDialog(undefined)}
          />
        )}
      </Suspense>
    </div>
  );
}

/** Its code is loaded where there is something to tell. */
function Installed(ids: { tenantID: string; workflowID: string }) {
  if (!installedWith(ids.workflowID)) return null;
  return (
    <Suspense>
      <WhatWasInstalled {...ids} />
    </Suspense>
  );
}

interface FoundProps extends Omit<ComponentProps<typeof Restore>, 'found'> {
  found: StoredDraft | undefined;
  mayChange: boolean;
}

/** Changes of an earlier visit that are not saved. */
function Found({ found, mayChange, ...props }: FoundProps) {
  if (!found || !mayChange) return null;
  return (
    <Suspense>
      <Restore {...props} found={found} />
    </Suspense>
  );
}

function Refusal({ error, isShownAtSteps }: { error: Error; isShownAtSteps: boolean }) {
  return (
    <Problem error={isShownAtSteps ? new Error('The graph has faults, which are shown at their steps.') : error} />
  );
}

/** Both authors' work is kept: the one that is loaded over is still among the versions. */
function Conflict({ onTheirs, onMine }: { onTheirs: () => Promise<void>; onMine: () => void }) {
  return (
    <Notice tone="bad" role="alert" title="Changed meanwhile">
      Another author has saved this workflow since you opened it. Nothing of yours is saved yet.{' '}
      <Button size="compact-xs" variant="default" onClick={() => void onTheirs()}>
        Load theirs and drop mine
      </Button>{' '}
      <Button size="compact-xs" variant="default" onClick={onMine}>
        Save mine as a later draft
      </Button>
    </Notice>
  );
}
