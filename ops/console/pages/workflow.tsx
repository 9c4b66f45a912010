import { Skeleton } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { kindsRead, workflowRead } from '../client/workflows.ts';
import { Editor } from '../editor/editor.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

/** The editor of a workflow, which begins with the version that was saved last. */
export function WorkflowPage() {
  const ids = useParams({ from: '/shell/t/$tenantID/workflows/$workflowID' });
  const queries = useQueryClient();
  const workflow = useQuery(workflowRead(ids));
  const kinds = useQuery(kindsRead(ids.tenantID));
  // Another number makes an editor that knows nothing of the one before.
  const [reading, setReading] = useState(0);
  const error = workflow.error ?? kinds.error;
  if (error)
    return (
      <>
        <PageTitle title="Workflow" />
        <Problem error={error} onRetry={() => void queries.invalidateQueries()} />
      </>
    );
  if (!workflow.data || !kinds.data) return <Skeleton h={420} />;
  return (
    <Editor
      key={`${ids.workflowID} ${reading}`}
      tenantID={ids.tenantID}
      workflow={workflow.data}
      kinds={kinds.data}
      onReload={async () => {
        await workflow.refetch();
        setReading((before) => before + 1);
      }}
    />
  );
}
