import { Skeleton } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { kindsRead, workflowRead } from '../client/workflows.ts';
import { Editor } from '../editor/editor.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

const VersionView = lazy(() => import('../editor/version-view.tsx').then(({ VersionView: one }) => ({ default: one })));

const from = '/shell/t/$tenantID/workflows/$workflowID';

/** The editor of a workflow, which begins with the version that was saved last; or another version to look at. */
export function WorkflowPage() {
  const ids = useParams({ from });
  const { version, step, run } = useSearch({ from });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const workflow = useQuery(workflowRead(ids));
  const kinds = useQuery(kindsRead(ids.tenantID));
  // Another number makes an editor that knows nothing of the one before.
  const [reading, setReading] = useState(0);
  const error = errorInPlaceOf(workflow, kinds);
  if (error)
    return (
      <>
        <PageTitle title="Workflow" />
        <Problem error={error} onRetry={() => void queries.invalidateQueries()} />
      </>
    );
  if (!workflow.data || !kinds.data) return <Skeleton h={420} />;
  const reload = async () => {
    await workflow.refetch();
    setReading((before) => before + 1);
  };
  if (version !== undefined && version !== workflow.data.versionID)
    return (
      <Suspense fallback={<Skeleton h={420} />}>
        <VersionView
          tenantID={ids.tenantID}
          workflow={workflow.data}
          versionID={version}
          kinds={kinds.data}
          step={step}
          onLeave={async () => {
            await reload();
            await navigate({ to: '/t/$tenantID/workflows/$workflowID', params: ids, search: {} });
          }}
        />
      </Suspense>
    );
  return (
    <Editor
      key={`${ids.workflowID} ${run} ${reading}`}
      tenantID={ids.tenantID}
      workflow={workflow.data}
      kinds={kinds.data}
      step={step}
      run={run}
      onReload={reload}
    />
  );
}
