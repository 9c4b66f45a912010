import './panels.css';
import '@mantine/core/styles/Tabs.css';
import { Skeleton, Tabs } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { PageState } from '../../page/state/page-state.ts';
import { DataPanel } from './data/data-panel.tsx';
import { PagePanel } from './page/page-panel.tsx';
import type { PanelProps } from './panel.ts';
import { WidgetPanel } from './properties/widget-panel.tsx';
import { PageOnCanvas } from './values/page-now.tsx';
import { VariablesPanel } from './variables/variables-panel.tsx';

const VersionsPanel = lazy(() =>
  import('./versions/versions-panel.tsx').then(({ VersionsPanel: one }) => ({ default: one })),
);

interface OnCanvas {
  /** The page as the canvas draws it; undefined while it does not. */
  page: PageState | undefined;
}

/** The panel of the widget that is chosen. */
export function ChosenWidget({ page, ...props }: PanelProps & OnCanvas & { widgetKey: string }) {
  return (
    <PageOnCanvas value={page}>
      <WidgetPanel {...props} />
    </PageOnCanvas>
  );
}

interface Props extends PanelProps, OnCanvas {
  isDirty: boolean;
  onReload: () => Promise<unknown>;
}

/** Panels of the page as a whole: its data, its variables, its settings and its versions. A dashboard has no data of its own. */
export function PagePanels({ page, isDirty, onReload, ...props }: Props) {
  const isPage = props.document.kind === 'app-page';
  return (
    <PageOnCanvas value={page}>
      <Tabs defaultValue={isPage ? 'data' : 'page'} keepMounted={false}>
        <Tabs.List>
          {isPage && (
            <Tabs.Tab value="data" px="xs">
              Data
            </Tabs.Tab>
          )}
          {isPage && (
            <Tabs.Tab value="variables" px="xs">
              Variables
            </Tabs.Tab>
          )}
          <Tabs.Tab value="page" px="xs">
            {isPage ? 'Page' : 'Dashboard'}
          </Tabs.Tab>
          <Tabs.Tab value="versions" px="xs">
            Versions
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="data" pt="sm">
          <DataPanel {...props} />
        </Tabs.Panel>
        <Tabs.Panel value="variables" pt="sm">
          <VariablesPanel {...props} />
        </Tabs.Panel>
        <Tabs.Panel value="page" pt="sm">
          <PagePanel {...props} />
        </Tabs.Panel>
        <Tabs.Panel value="versions" pt="sm">
          <Suspense fallback={<Skeleton h={120} />}>
            <VersionsPanel document={props.document} {...{ isDirty, onReload }} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </PageOnCanvas>
  );
}
