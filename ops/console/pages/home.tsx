import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams } from '@tanstack/react-router';
import { useHomePage, useMay } from '../client/may.ts';
import { isNewRead, type Overview, overviewRead } from '../client/overview.ts';
import { tenantsRead } from '../client/reads.ts';
import { FirstSteps } from '../home/first-steps.tsx';
import { Needs } from '../home/needs.tsx';
import { OtherPages } from '../home/other-pages.tsx';
import { Paused } from '../home/paused.tsx';
import { RunsOfLate } from '../home/runs-of-late.tsx';
import { ToRun } from '../home/to-run.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';
import { Restored } from '../ui/restored.tsx';

/** A role may have a page in place of Home. */
export function HomePage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/' });
  const appPageID = useHomePage(tenantID);
  if (appPageID === undefined) return <Skeleton h={320} />;
  if (appPageID === null) return <Home tenantID={tenantID} />;
  return <Navigate to="/t/$tenantID/pages/$appPageID" params={{ tenantID, appPageID }} replace />;
}

/** The first page: what needs the caller now, and how the runs of late have ended. */
function Home({ tenantID }: { tenantID: string }) {
  const { data: tenants } = useQuery(tenantsRead);
  const title = tenants?.find((one) => one.tenantID === tenantID)?.tenantTitle ?? 'Tenant';
  const may = useMay();
  const isNew = useQuery({ ...isNewRead(tenantID), enabled: may('workflow.create') && may('workflow.list') });
  const { data, error, refetch } = useQuery(overviewRead(tenantID));
  return (
    <>
      <PageTitle title={title} />
      {data?.restoredFrom && (
        <Restored at={data.restoredFrom}>
          Nothing runs until the operator of the server resumes it, with <code className="nowrap">gantry resume</code>.
          You can look at everything and change it.
        </Restored>
      )}
      {isNew.data && <FirstSteps tenantID={tenantID} />}
      <ToRun tenantID={tenantID} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton h={320} />}
      {data?.paused && <Paused tenantID={tenantID} paused={data.paused} />}
      {data && isBare(data) && <OtherPages tenantID={tenantID} />}
      {data && !isBare(data) && !isNew.data && <Needs tenantID={tenantID} overview={data} />}
      {data?.runs && !isNew.data && <RunsOfLate tenantID={tenantID} now={data.runs} />}
    </>
  );
}

function isBare({ questions, runs, deadLetters, stoppedCronJobs, stoppedListeners }: Overview): boolean {
  return [questions, runs, deadLetters, stoppedCronJobs, stoppedListeners].every((part) => part === null);
}
