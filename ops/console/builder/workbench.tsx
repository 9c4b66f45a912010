import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import '@mantine/core/styles/Tabs.css';
import { Button, Group, SegmentedControl, Skeleton, Tabs } from '@mantine/core';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { Icon } from '../ui/icon.tsx';
import { Canvas } from './canvas/canvas.tsx';
import { CanvasContext, type CanvasState } from './canvas/canvas-state.ts';
import type { PageDocument } from './document.ts';
import type { Screen } from './grid-edits.ts';
import { LayoutPanel } from './layout-panel.tsx';
import { useLivePage } from './live-page.ts';
import { ChosenWidget, PagePanels } from './panels/side-panels.tsx';
import { PartBar } from './part-bar.tsx';
import { PartTree } from './part-tree.tsx';
import { partOf } from './parts.ts';
import { TabsOfPart } from './tabs-of-part.tsx';
import type { PartActions } from './use-part-actions.ts';
import { isScreen, screenWords, type Width, widths } from './widths.ts';

const Grid = lazy(() => import('./grid/grid.tsx').then(({ Grid: one }) => ({ default: one })));

interface Props {
  tenantID: string;
  document: PageDocument;
  canvas: CanvasState;
  selection: ReadonlySet<string>;
  actions: PartActions;
  width: Width;
  screen: Screen;
  isDirty: boolean;
  mayChange: boolean;
  /** Fields that keep what is typed begin anew with another one. */
  moves: number;
  said: string;
  onScreen: (screen: Screen) => void;
  onAdd: () => void;
  onReload: () => Promise<unknown>;
}

/** The page while it is edited, with its tools above it, and its parts and their panels beside it. */
export function Workbench(props: Props) {
  const { tenantID, document, canvas, selection, actions, width, screen, mayChange, said, onScreen } = props;
  const page = useLivePage(tenantID, document);
  useEffect(() => {
    canvas.page.current = page;
  }, [canvas, page]);
  const panel = useRef<HTMLElement>(null);
  const isGrid = document.kind === 'dashboard';
  const { pixels } = widths[width];
  return (
    <CanvasContext value={canvas}>
      <div className="builder">
        <div className="builder-bar">
          {mayChange && (
            <Group gap={6}>
              <PartBar {...{ document, selection, actions }} />
              {page && selection.size === 1 && (
                <TabsOfPart {...{ document, page }} id={[...selection][0] ?? ''} edit={canvas.edit} />
              )}
            </Group>
          )}
          <span role="status" className="note">
            {said}
          </span>
          {isGrid && (
            <SegmentedControl
              size="xs"
              aria-label="Layout that is arranged"
              value={screen}
              data={Object.entries(screenWords).map(([value, label]) => ({ value, label }))}
              onChange={(value) => isScreen(value) && onScreen(value)}
            />
          )}
          {mayChange && (
            <Button size="xs" title="A" onClick={props.onAdd}>
              <Icon name="plus" size={14} />
              &nbsp;Add<span className="bar-word">&nbsp;a widget</span>
            </Button>
          )}
        </div>
        <section className="builder-room" aria-label="The page" tabIndex={-1}>
          <div className="builder-sheet" style={pixels === undefined ? {} : { width: pixels }} data-width={width}>
            {!page && <Skeleton h={240} />}
            {page && !isGrid && <Canvas page={page} />}
            {page && isGrid && (
              <Suspense fallback={<Skeleton h={240} />}>
                <Grid {...{ page, document, screen }} />
              </Suspense>
            )}
          </div>
        </section>
        <aside ref={panel} className="builder-side" aria-label="Parts and settings" tabIndex={-1}>
          <PartTree {...{ document, selection }} onChoose={canvas.choose} onOpen={() => panel.current?.focus()} />
          <Panels {...props} page={page} />
        </aside>
      </div>
    </CanvasContext>
  );
}

type PanelsProps = Props & { page: ReturnType<typeof useLivePage> };

/** The panel of the part that is chosen, or those of the page as a whole. */
function Panels({ document, selection, canvas, page, isDirty, moves, onReload }: PanelsProps) {
  const [only, ...others] = selection;
  const chosen = others.length === 0 ? only : undefined;
  const [tab, setTab] = useState('page');
  useEffect(() => setTab(chosen === undefined ? 'page' : 'part'), [chosen]);
  const part = chosen === undefined ? undefined : partOf(document, chosen);
  const { edit } = canvas;
  const widgetKey = part?.widgetKey;
  const isWidget = widgetKey !== undefined && document.widgets[widgetKey] !== undefined;
  return (
    <Tabs value={part ? tab : 'page'} onChange={(next) => setTab(next ?? 'page')} keepMounted={false}>
      <Tabs.List>
        <Tabs.Tab value="part" disabled={!part}>
          Chosen part
        </Tabs.Tab>
        <Tabs.Tab value="page">{document.kind === 'dashboard' ? 'Dashboard' : 'Page and data'}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="part" pt="sm">
        {isWidget && (
          <ChosenWidget
            key={`${widgetKey} ${moves}`}
            {...{ document, edit, widgetKey, page }}
            onChoose={(key) => canvas.choose(key)}
          />
        )}
        {part?.node && !isWidget && <LayoutPanel key={`${part.id} ${moves}`} {...{ document, edit }} id={part.id} />}
      </Tabs.Panel>
      <Tabs.Panel value="page" pt="sm">
        <PagePanels
          key={moves}
          {...{ document, edit, page, isDirty, onReload }}
          onChoose={(key) => canvas.choose(key)}
        />
      </Tabs.Panel>
    </Tabs>
  );
}
