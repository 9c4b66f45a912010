import { Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { InputForm, Question } from '../apps/lazy-forms.ts';
import { memoryOf } from '../apps/memory.ts';
import { appPageClient } from '../apps/page-client.ts';
import { paramsOf } from '../apps/view.ts';
import { appPageContentRead } from '../client/app-pages.ts';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { meRead } from '../client/reads.ts';
import { whenServed } from '../client/when-served.ts';
import { useAsOpenPage } from '../open-page/open-page.ts';
import { PageView } from '../page/view.tsx';
import { Icon } from '../ui/icon.tsx';
import { isObject } from '../ui/is-object.ts';
import { May } from '../ui/may.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageTitle } from '../ui/page.tsx';
import { Problem } from '../ui/problem.tsx';

const QuestionsOfPage = lazy(() =>
  whenServed(() => import('../apps/questions-of-page.tsx')).then(({ QuestionsOfPage: one }) => ({ default: one })),
);

const SharePage = lazy(() =>
  whenServed(() => import('../builder/panels/sharing/share-page.tsx')).then(({ SharePage: one }) => ({ default: one })),
);

/** An app page, as its viewers see it. */
export function AppPagePage() {
  const ids = useParams({ from: '/shell/t/$tenantID/pages/$appPageID' });
  const { tenantID, appPageID } = ids;
  const navigate = useNavigate();
  const { searchStr } = useLocation();
  const [isSharing, setSharing] = useState(false);
  const [refreshes, setRefreshes] = useState(0);
  const read = useQuery(appPageContentRead({ tenantID, appPageID }));
  const me = useQuery(meRead);
  const { data } = read;
  const content = useMemo(() => {
    if (!data || !me.data) return undefined;
    const { appPage, widgets } = data;
    const { email, userID, userName } = me.data as { email?: string; userID?: string; userName?: string };
    return {
      ...{ id: appPageID, title: appPage.appPageTitle, config: appPage.appPageConfig, widgets },
      ...{ viewer: { email, userID, name: userName }, params: paramsOf(searchStr) },
    };
  }, [data, me.data, appPageID, searchStr]);
  const client = useMemo(
    () =>
      appPageClient({
        tenantID,
        appPageID,
        openRun: (instanceID) =>
          void navigate({ to: '/t/$tenantID/runs/$instanceID', params: { tenantID, instanceID }, search: {} }),
        openPage: (other, params) =>
          void navigate({
            to: '/t/$tenantID/pages/$appPageID',
            params: { tenantID, appPageID: other },
            search: params as never,
          }),
      }),
    [tenantID, appPageID, navigate],
  );
  const memory = useMemo(() => memoryOf(appPageID), [appPageID]);
  const refresh = () => {
    void read.refetch();
    setRefreshes((count) => count + 1);
  };
  const error = errorInPlaceOf(read, me);
  useAsOpenPage({
    ...{ kind: 'page', id: appPageID, title: data?.appPage.appPageTitle ?? 'Page' },
    read: () => ({ appPageConfig: data?.appPage.appPageConfig, widgets: data?.widgets }),
  });
  const title = data?.appPage.appPageTitle ?? 'Page';
  return (
    <>
      <PageTitle key={appPageID} title={title}>
        <Button variant="default" size="xs" leftSection={<Icon name="again" />} onClick={refresh}>
          Refresh
        </Button>
        <May permission="role.update">
          <Button size="xs" variant="default" disabled={!data} onClick={() => setSharing(true)}>
            Share
          </Button>
        </May>
        <May permission="appPage.update" on={`appPage:${appPageID}`}>
          <Button
            size="xs"
            renderRoot={(own) => <Link {...own} to="/t/$tenantID/pages/$appPageID/edit" params={ids} />}
          >
            Edit
          </Button>
        </May>
      </PageTitle>
      {isSharing && data && (
        <Suspense>
          <SharePage read={data} onClose={() => setSharing(false)} />
        </Suspense>
      )}
      {data?.appPage.isDraft && (
        <Notice tone="wait" title="Draft">
          This page is a draft: it runs nothing until it is none any more.
        </Notice>
      )}
      {error && <Problem error={error} onRetry={() => void read.refetch()} />}
      {!content && !error && <Skeleton h={320} />}
      {content && !error && startsWorkflows(content.config) && (
        <Suspense>
          <QuestionsOfPage tenantID={tenantID} appPageID={appPageID} />
        </Suspense>
      )}
      {content && !error && <PageView {...{ content, client, memory, refreshes, Question, InputForm }} />}
    </>
  );
}

/** Only runs of workflows ask. */
function startsWorkflows({ dataSources }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(dataSources) && dataSources.some((one) => isObject(one) && one.type === 'workflow');
}
