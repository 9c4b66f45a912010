import { Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { InputForm, Question } from '../apps/lazy-forms.ts';
import { memoryOf } from '../apps/memory.ts';
import { dashboardClient } from '../apps/page-client.ts';
import { paramsOf } from '../apps/view.ts';
import { dashboardContentRead } from '../client/app-pages.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { meRead } from '../client/reads.ts';
import { PageView } from '../page/view.tsx';
import { Icon } from '../ui/icon.tsx';
import { May } from '../ui/may.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

/** A dashboard, with the widgets that the caller may execute. */
export function DashboardPage() {
  const { tenantID, dashboardID } = useParams({ from: '/shell/t/$tenantID/pages/dashboards/$dashboardID' });
  const navigate = useNavigate();
  const { searchStr } = useLocation();
  const [refreshes, setRefreshes] = useState(0);
  const read = useQuery(dashboardContentRead({ tenantID, dashboardID }));
  const me = useQuery(meRead);
  const { data } = read;
  const content = useMemo(() => {
    if (!data || !me.data) return undefined;
    const { dashboard, widgets } = data;
    const { dashboardTitle: title, dashboardConfig: config } = dashboard;
    const { email, userID, userName } = me.data as { email?: string; userID?: string; userName?: string };
    return {
      id: dashboardID,
      title,
      config,
      widgets,
      viewer: { email, userID, name: userName },
      params: paramsOf(searchStr),
    };
  }, [data, me.data, dashboardID, searchStr]);
  const client = useMemo(
    () =>
      dashboardClient({
        tenantID,
        openRun: (instanceID) =>
          void navigate({ to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID }, search: {} }),
        openPage: (appPageID, params) =>
          void navigate({
            to: '/t/$tenantID/pages/$appPageID',
            params: { tenantID, appPageID },
            search: params as never,
          }),
      }),
    [tenantID, navigate],
  );
  const memory = useMemo(() => memoryOf(dashboardID), [dashboardID]);
  const refresh = () => {
    void read.refetch();
    setRefreshes((count) => count + 1);
  };
  const error = errorInPlaceOf(read, me);
  return (
    <>
      <PageTitle title={data?.dashboard.dashboardTitle ?? 'Dashboard'}>
        <Button variant="default" size="xs" leftSection={<Icon name="again" />} onClick={refresh}>
          Refresh
        </Button>
        <May permission="dashboard.update" on={`dashboard:${dashboardID}`}>
          <Button
            size="xs"
            renderRoot={(own) => (
              <Link {...own} to="/t/$tenantID/pages/dashboards/$dashboardID/edit" params={{ tenantID, dashboardID }} />
            )}
          >
            Edit
          </Button>
        </May>
      </PageTitle>
      {error && <Problem error={error} onRetry={() => void read.refetch()} />}
      {!content && !error && <Skeleton h={320} />}
      {content && !error && <PageView {...{ content, client, memory, refreshes, Question, InputForm }} isDashboard />}
    </>
  );
}
