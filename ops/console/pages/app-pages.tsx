import { Button, SegmentedControl } from '@mantine/core';
import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type AppView, parseAppView } from '../apps/view.ts';
import { appPagesRead, dashboardsRead } from '../client/app-pages.ts';
import { useMay } from '../client/may.ts';
import { createDashboard } from '../client/pages-saved.ts';
import type { Schemas } from '../client/types.ts';
import { AssetList } from '../ui/asset-list.tsx';
import { May } from '../ui/may.tsx';
import { NameDialog } from '../ui/name-dialog.tsx';
import { NewPageDialog } from '../ui/new-page-dialog.tsx';
import { Ago } from '../ui/time.tsx';

const from = '/shell/t/$tenantID/pages';

/** App pages and dashboards that the caller may open. */
export function AppPagesPage() {
  const { tenantID } = useParams({ from });
  const view = useSearch({ from });
  const navigate = useNavigate({ from: '/t/$tenantID/pages' });
  const may = useMay();
  const hasBoth = may('appPage.read') && may('dashboard.read');
  const isDashboards = view.kind === 'dashboards' || (!may('appPage.read') && may('dashboard.read'));
  const onFilter = (next: AppView) => void navigate({ search: parseAppView({ ...next }) });
  const kinds = hasBoth && (
    <SegmentedControl
      size="xs"
      aria-label="What is listed"
      value={isDashboards ? 'dashboards' : 'pages'}
      data={[
        { value: 'pages', label: 'Pages' },
        { value: 'dashboards', label: 'Dashboards' },
      ]}
      onChange={(kind) => onFilter(kind === 'dashboards' ? { kind } : {})}
    />
  );
  const List = isDashboards ? Dashboards : Pages;
  return <List {...{ tenantID, view, onFilter, kinds }} />;
}

interface ListProps {
  tenantID: string;
  view: AppView;
  onFilter: (view: AppView) => void;
  kinds: React.ReactNode;
}

function Pages({ tenantID, view, onFilter, kinds }: ListProps) {
  const { kind: _, ...filter } = view;
  const read = useQuery(appPagesRead(tenantID, filter));
  const [isMaking, setMaking] = useState(false);
  const make = (
    <May permission="appPage.create">
      <Button onClick={() => setMaking(true)}>New page</Button>
    </May>
  );
  return (
    <>
      <AssetList<Schemas['AppPage']>
        {...{ tenantID, filter, onFilter, read }}
        title="Pages"
        actions={
          <>
            {kinds}
            {make}
          </>
        }
        entityType="appPage"
        idOf={({ appPageID }) => appPageID}
        titleOf={({ appPageTitle }) => appPageTitle}
        columns={[
          {
            head: 'Title',
            cell: ({ appPageID, appPageTitle, appPageDescription }) => (
              <>
                <Link className="link" to="/t/$tenantID/pages/$appPageID" params={{ tenantID, appPageID }}>
                  <bdi>{appPageTitle}</bdi>
                </Link>
                {appPageDescription && <div className="note described">{appPageDescription}</div>}
              </>
            ),
          },
          { head: 'State', cell: ({ isDraft }) => (isDraft ? 'Draft' : 'Ready') },
          { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
        ]}
        empty="No page that you may open. A page shows data of queries with tables, figures and forms, and starts workflows. Its viewers need no right but to read the page."
        first={make}
      />
      {isMaking && <NewPageDialog tenantID={tenantID} onClose={() => setMaking(false)} />}
    </>
  );
}

function Dashboards({ tenantID, view, onFilter, kinds }: ListProps) {
  const { kind: _, ...filter } = view;
  const read = useQuery(dashboardsRead(tenantID, filter));
  const navigate = useNavigate();
  const [isNaming, setNaming] = useState(false);
  const make = (
    <May permission="dashboard.create">
      <Button onClick={() => setNaming(true)}>New dashboard</Button>
    </May>
  );
  const create = async (title: string) => {
    const dashboardID = await createDashboard(tenantID, title);
    await navigate({ to: '/t/$tenantID/pages/dashboards/$dashboardID/edit', params: { tenantID, dashboardID } });
  };
  return (
    <>
      <AssetList<Schemas['Dashboard']>
        {...{ tenantID, filter, read }}
        onFilter={(next) => onFilter({ ...next, kind: 'dashboards' })}
        title="Dashboards"
        actions={
          <>
            {kinds}
            {make}
          </>
        }
        entityType="dashboard"
        idOf={({ dashboardID }) => dashboardID}
        titleOf={({ dashboardTitle }) => dashboardTitle}
        columns={[
          {
            head: 'Title',
            cell: ({ dashboardID, dashboardTitle, dashboardDescription }) => (
              <>
                <Link
                  className="link"
                  to="/t/$tenantID/pages/dashboards/$dashboardID"
                  params={{ tenantID, dashboardID }}
                >
                  <bdi>{dashboardTitle}</bdi>
                </Link>
                {dashboardDescription && <div className="note described">{dashboardDescription}</div>}
              </>
            ),
          },
          { head: 'Changed', cell: ({ updatedAt }) => <Ago at={updatedAt} />, isWide: true },
        ]}
        empty="No dashboard that you may open. A dashboard shows widgets in a grid. Its viewers need the right to execute each widget."
      />
      {isNaming && <NameDialog title="New dashboard" onName={create} onClose={() => setNaming(false)} />}
    </>
  );
}
