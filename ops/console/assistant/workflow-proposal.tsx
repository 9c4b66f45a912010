import { Button, Skeleton, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { checkGraph, createDraft } from '../client/assistant.ts';
import { useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import { kindsRead } from '../client/workflows.ts';
import { ChangeList } from '../editor/change-list.tsx';
import { bodyOf, type Draft, nameIn, optionsOf } from '../editor/draft.ts';
import { proposedGraph } from '../editor/proposed-graph.ts';
import type { Kinds } from '../graph/kinds.ts';
import { type OpenDraft, useAsProposal, useOpenPage, useProposedDraft } from '../open-page/open-page.ts';
import { countOf } from '../ui/count.ts';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { ProposalActions, ProposalCard } from './proposal-card.tsx';
import { differences, newDraft, type WorkflowChange, withChange, workflowChangeIn } from './proposed.ts';
import { useStored } from './stored.ts';

interface Props {
  id: string;
  tenantID: string;
  output: Readonly<Record<string, unknown>>;
  onAsk: (question: string) => void;
}

/** A change of a workflow that the model proposes, as it differs from the draft that is open. */
export function WorkflowProposal({ id, tenantID, output, onAsk }: Props) {
  const opened = useOpenPage();
  const change = useMemo(() => workflowChangeIn(output), [output]);
  useAsProposal(id, change?.workflowID ?? null);
  if (!change) return <Notice tone="bad">The proposal is too large to be shown. Ask for a smaller one.</Notice>;
  // Safe: the editor has put it there.
  const open = opened?.workflow?.workflowID === change.workflowID ? (opened.workflow as Open) : undefined;
  const own = { id, tenantID, change, onAsk };
  const title = change.workflowID === null ? `New workflow: ${change.title ?? 'without a title'}` : 'Proposed change';
  return (
    <ProposalCard id={id} label="Proposed change" title={title} summary={change.summary}>
      {(onDiscard) =>
        change.workflowID === null ? (
          <NewWorkflow {...own} onDiscard={onDiscard} />
        ) : open ? (
          <OfOpen {...own} open={open} onDiscard={onDiscard} />
        ) : (
          <Text size="sm">
            To compare it and to apply it, open <ToWorkflow tenantID={tenantID} workflowID={change.workflowID} />.
          </Text>
        )
      }
    </ProposalCard>
  );
}

function ToWorkflow(params: { tenantID: string; workflowID: string }) {
  return (
    <Link className="link" to="/t/$tenantID/workflows/$workflowID" params={params} search={{}}>
      the workflow
    </Link>
  );
}

type Open = OpenDraft<Draft, Kinds>;

interface Own {
  /** The call that proposes it. */
  id: string;
  tenantID: string;
  change: WorkflowChange;
  onAsk: (question: string) => void;
  onDiscard: () => void;
}

function OfOpen({ id, tenantID, change, open, onAsk, onDiscard }: Own & { open: Open }) {
  const { workflowID, draft, kinds, mayChange, onTake } = open;
  const next = useMemo(() => withChange(draft, kinds, change), [draft, kinds, change]);
  const changes = useMemo(() => differences(draft, next, kinds), [draft, next, kinds]);
  const shown = useMemo(() => proposedGraph(draft, next), [draft, next]);
  useProposedDraft(id, workflowID, changes.length > 0 ? shown : undefined);
  if (changes.length === 0)
    return (
      <Text size="sm" role="status">
        The draft has all of it. It is not saved or published by that; “Undo” in the editor takes it back.
      </Text>
    );
  return (
    <>
      <ChangeList changes={changes} />
      <Faults tenantID={tenantID} workflowID={workflowID} draft={next} onAsk={onAsk} />
      {!mayChange && <Text size="sm">You may not change this workflow.</Text>}
      <ProposalActions
        action="Apply to the draft"
        disabled={!mayChange}
        onTake={() => onTake(next)}
        onDiscard={onDiscard}
      />
    </>
  );
}

function NewWorkflow({ id, tenantID, change, onAsk, onDiscard }: Own) {
  const { data: kinds } = useQuery(kindsRead(tenantID));
  const may = useMay()('workflow.create');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const next = useMemo(() => kinds && withChange(newDraft(change), kinds, change), [kinds, change]);
  const changes = useMemo(
    () => (kinds && next ? differences(newDraft(change), next, kinds) : []),
    [kinds, next, change],
  );
  // One proposal makes one workflow.
  const [created, setCreated] = useStored(`gantry.created.${id}`, () => '', sessionStorage);
  const create = useMutation({
    mutationFn: async (draft: Draft) => {
      const workflowOptions = optionsOf(draft) as Schemas['WorkflowCreate']['workflowOptions'];
      const given = { title: change.title ?? 'New workflow', ...bodyOf(draft), workflowOptions };
      const workflowID = await createDraft(tenantID, given);
      setCreated(workflowID);
      await queries.invalidateQueries({ queryKey: ['workflows', tenantID] });
      await navigate({ to: '/t/$tenantID/workflows/$workflowID', params: { tenantID, workflowID }, search: {} });
    },
  });
  if (created !== '')
    return (
      <Text size="sm" role="status">
        It was created as a draft: <ToWorkflow tenantID={tenantID} workflowID={created} />.
      </Text>
    );
  if (!next) return <Skeleton h={60} />;
  return (
    <>
      <ChangeList changes={changes} />
      <Faults tenantID={tenantID} workflowID={null} draft={next} onAsk={onAsk} />
      {create.error && <Problem error={create.error} />}
      <ProposalActions
        action="Create it as a draft"
        disabled={!may}
        loading={create.isPending}
        onTake={() => create.mutate(next)}
        onDiscard={onDiscard}
      />
    </>
  );
}

interface FaultProps {
  tenantID: string;
  workflowID: string | null;
  draft: Draft;
  onAsk: (question: string) => void;
}

const TYPING_MS = 400;

/** Faults for which the API would refuse the draft, and a way to have the model mend them. */
function Faults({ tenantID, workflowID, draft, onAsk }: FaultProps) {
  const graph = { workflowID, ...bodyOf(draft), workflowOptions: optionsOf(draft) } as Schemas['WorkflowCheck'];
  // The draft changes with every key while a person goes on with it.
  const [settled] = useDebouncedValue(JSON.stringify(graph), TYPING_MS);
  const { data: problems = [], error } = useQuery({
    queryKey: ['checked-graph', tenantID, settled],
    queryFn: () => checkGraph(tenantID, JSON.parse(settled) as typeof graph),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  });
  // Where the graph has not even the form of one, the API names the fields.
  const said = error ? [error.message] : problems.map((problem) => lineOf(problem, draft));
  if (said.length === 0) return null;
  return (
    <Notice tone="bad" title={`It cannot be published so: ${countOf(said.length, 'fault')}`}>
      <ul className="lines prose">
        {said.map((line) => (
          <li key={line}>
            <bdi>{line}</bdi>
          </li>
        ))}
      </ul>
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => onAsk(`The proposed change has faults. Propose it again, corrected:\n${said.join('\n')}`)}
      >
        Have it corrected
      </Button>
    </Notice>
  );
}

function lineOf({ nodeID, path, message }: Schemas['PlanProblem'], draft: Draft): string {
  const [, field] = /^workflowNodes\.\d+\.data\.(.*)$/.exec(path ?? '') ?? [];
  const where = [nodeID === undefined ? undefined : `“${nameIn(draft, nodeID)}”`, nodeID === undefined ? path : field];
  const named = where.filter(Boolean).join(', ');
  return named === '' ? message : `${named}: ${message}`;
}
