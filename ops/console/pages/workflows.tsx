import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { parseListFilter } from '../client/list-filter.ts';
import { useMay } from '../client/may.ts';
import type { Schemas } from '../client/types.ts';
import {
  cloneWorkflow,
  createWorkflow,
  deleteWorkflow,
  setWorkflowPause,
  workflowListRead,
  workflowUsageRead,
} from '../client/workflows.ts';
import { PauseDialog } from '../editor/pause.tsx';
import { askAssistant } from '../open-page/open-page.ts';
import { RunNow } from '../run/run-now.tsx';
import { AssetList } from '../ui/asset-list.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { NameDialog } from '../ui/name-dialog.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';

type Row = Schemas['ListedWorkflow'];
const from = '/shell/t/$tenantID/workflows';

export function WorkflowsPage() {
  const { tenantID } = useParams({ from });
  const filter = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/workflows' });
  const queries = useQueryClient();
  const read = useQuery(workflowListRead(tenantID, filter));
  const [isNew, asNew] = useDisclosure(false);
  const mayAsk = useMay()('ai.execute');
  const [doomed, setDoomed] = useState<Row>();
  const [paused, setPaused] = useState<Row>();
  const [resumed, setResumed] = useState<Row>();
  const edit = (workflowID: string) =>
    navigate({ to: '/t/$tenantID/workflows/$workflowID', params: { tenantID, workflowID } });
  const runsOf = ({ id }: Row) =>
    navigate({ to: '/t/$tenantID/runs', params: { tenantID }, search: { workflowID: id } });
  const refresh = () => queries.invalidateQueries({ queryKey: ['workflows', tenantID] });
  const clone = async ({ id }: Row) => {
    const made = await cloneWorkflow({ tenantID, workflowID: id });
    await refresh();
    await edit(made.id);
  };

  const columns: Column<Row>[] = [
    {
      head: 'Title',
      cell: (row) => (
        <>
          <Link className="link" to="/t/$tenantID/workflows/$workflowID" params={{ tenantID, workflowID: row.id }}>
            <bdi>{row.title}</bdi>
          </Link>
          {row.workflowDescription && <div className="note clip">{row.workflowDescription}</div>}
          <div className="note narrow">{stateOf(row)}</div>
        </>
      ),
    },
    { head: 'State', cell: (row) => stateOf(row), isWide: true },
    { head: 'Version', cell: ({ versionNumber }) => versionNumber, isWide: true },
    { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
    {
      head: 'Runs',
      cell: (row) => (
        <Group gap="xs" wrap="nowrap">
          <RunNow tenantID={tenantID} workflow={row} />
          <Link className="link wide" to="/t/$tenantID/runs" params={{ tenantID }} search={{ workflowID: row.id }}>
            Runs
          </Link>
        </Group>
      ),
    },
    {
      head: 'Actions',
      isPinned: true,
      cell: (row) => (
        <RowMenu
          of={row.title}
          on={`workflow:${row.id}`}
          actions={[
            { label: 'Show its runs', permission: 'workflow.read', onClick: () => void runsOf(row) },
            { label: 'Clone', permission: 'workflow.create', isOfType: true, onClick: () => void clone(row) },
            row.pausedAt
              ? { label: 'Resume', permission: 'workflow.update', onClick: () => setResumed(row) }
              : { label: 'Pause', permission: 'workflow.update', onClick: () => setPaused(row) },
            { label: 'Delete', permission: 'workflow.delete', onClick: () => setDoomed(row), isDangerous: true },
          ]}
        />
      ),
    },
  ];

  return (
    <>
      <AssetList
        tenantID={tenantID}
        title="Workflows"
        entityType="workflow"
        filter={filter}
        onFilter={(next) => void navigate({ search: parseListFilter({ ...next }) })}
        read={read}
        idOf={({ id }) => id}
        titleOf={({ title }) => title}
        columns={columns}
        empty="No workflow yet. A template is the quickest way to one."
        actions={
          <May permission="workflow.create" on="workflow:*">
            <Button
              variant="default"
              renderRoot={(props) => <Link {...props} to="/t/$tenantID/templates" params={{ tenantID }} />}
            >
              Start from a template
            </Button>
            {mayAsk && (
              <Button
                variant="default"
                leftSection={<Icon name="spark" size={14} />}
                onClick={() => askAssistant('Draft a workflow that …')}
              >
                Describe one
              </Button>
            )}
            <Button leftSection={<Icon name="plus" />} onClick={asNew.open}>
              New workflow
            </Button>
          </May>
        }
      />
      {isNew && (
        <NameDialog
          title="New workflow"
          onName={async (title) => edit((await createWorkflow(tenantID, title)).id)}
          onClose={asNew.close}
        />
      )}
      {paused && (
        <PauseDialog
          ids={{ tenantID, workflowID: paused.id }}
          title={paused.title}
          onChanged={() => undefined}
          onClose={() => setPaused(undefined)}
        />
      )}
      {resumed && (
        <Confirm
          title="Resume the workflow"
          question={`The runs of “${resumed.title}” that wait begin, in their order.`}
          verb="Resume"
          keep="Cancel"
          onConfirm={async () => {
            await setWorkflowPause({ tenantID, workflowID: resumed.id }, 'resume');
            await refresh();
          }}
          onClose={() => setResumed(undefined)}
        />
      )}
      {doomed && (
        <DeleteWorkflow
          tenantID={tenantID}
          workflow={doomed}
          onDeleted={refresh}
          onClose={() => setDoomed(undefined)}
        />
      )}
    </>
  );
}

interface DeleteProps {
  tenantID: string;
  workflow: Row;
  onDeleted: () => Promise<unknown>;
  onClose: () => void;
}

/** The question is asked once it is known which workflows call this one, and what starts it. */
function DeleteWorkflow({ tenantID, workflow: { id: workflowID, title }, onDeleted, onClose }: DeleteProps) {
  const usage = useQuery({ ...workflowUsageRead({ tenantID, workflowID }), gcTime: 0 });
  if (usage.isPending) return null;
  return (
    <Confirm
      title="Delete the workflow"
      question={`“${title}” is deleted with its versions, and its runs that have not ended are cancelled.${usage.data ? callersIn(usage.data) + startersIn(usage.data) : ''}`}
      verb="Delete"
      onConfirm={async () => {
        await deleteWorkflow({ tenantID, workflowID });
        await onDeleted();
      }}
      onClose={onClose}
    />
  );
}

/** Titles that a question names. */
const MAX_NAMED = 5;

function callersIn({ workflows, others }: Schemas['WorkflowUsage']): string {
  const titles = workflows.map(({ workflowTitle }) => workflowTitle);
  const named = namesOf(titles, others);
  return named === '' ? '' : ` These workflows call it and fail from then on: ${named}.`;
}

function startersIn({ listeners, cronJobs, appPages, otherStarters }: Schemas['WorkflowUsage']): string {
  const titles = [
    ...listeners.map(({ listenerTitle }) => listenerTitle),
    ...cronJobs.map(({ cronJobTitle }) => cronJobTitle),
    ...appPages.map(({ appPageTitle }) => appPageTitle),
  ];
  const named = namesOf(titles, otherStarters);
  return named === '' ? '' : ` These listeners, cron jobs and pages start it and fail from then on: ${named}.`;
}

function namesOf(titles: readonly string[], others: number): string {
  const named = titles.slice(0, MAX_NAMED).map((title) => `“${title}”`);
  const more = titles.length - named.length + others;
  if (more > 0) named.push(more === 1 ? '1 more' : `${more.toLocaleString()} more`);
  return named.join(', ');
}

function stateOf({ publishedVersionID, isDisabled, pausedAt, versionID }: Row): string {
  if (isDisabled) return 'Disabled';
  if (pausedAt) return 'Paused';
  if (!publishedVersionID) return 'Draft';
  return publishedVersionID === versionID ? 'Published' : 'Published, with a later draft';
}
