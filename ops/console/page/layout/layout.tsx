import { useElementSize } from '@mantine/hooks';
import { type CSSProperties, useMemo } from 'react';
import { Widget } from '../widgets/frame.tsx';
import { usePage } from '../widgets/page-context.ts';
import { TabParts } from './tabs.tsx';
import { gridOf, layoutOf, type Part, readingOrder, spansOf } from './tree.ts';

/** The widgets of a page, by its layout. On a narrow screen all stand below one another (`page.css`). */
export function PageLayout() {
  const { content } = usePage();
  const root = useMemo(() => layoutOf(content.config), [content.config]);
  return (
    <div className="page-layout">
      <Shown part={root} />
    </div>
  );
}

function Shown({ part }: { part: Part }) {
  const { kind, children, gap, isSideBySide, sizing, height } = part;
  const size = { ...(gap !== undefined && { gap }), ...(sizing === 'fixed' && height !== undefined && { height }) };
  if (kind === 'widget') return <WidgetPart part={part} />;
  if (kind === 'row') {
    const spans = spansOf(children);
    return (
      <div className="page-row" style={size}>
        {children.map((child, at) => (
          <div key={child.id} style={{ '--span': spans[at] ?? 1 } as CSSProperties} data-sizing={child.sizing}>
            <Shown part={child} />
          </div>
        ))}
      </div>
    );
  }
  const layoutClass =
    kind === 'stack' && isSideBySide ? 'page-side-by-side' : kind === 'z-stack' ? 'page-z-stack' : 'page-column';
  return (
    <div className={kind === 'container' ? `${layoutClass} page-container` : layoutClass} style={size}>
      {children.map((child) => (
        <div key={child.id} style={{ '--span': child.span ?? 12 } as CSSProperties} data-sizing={child.sizing}>
          <Shown part={child} />
        </div>
      ))}
    </div>
  );
}

function WidgetPart({ part: { widgetKey, children, sizing, height } }: { part: Part }) {
  const style = sizing === 'fixed' && height !== undefined ? { height, overflow: 'auto' } : {};
  return (
    <div className="page-part" style={style} data-sizing={sizing}>
      <Widget widgetKey={widgetKey} />
      {children.length > 0 && (
        <TabParts widgetKey={widgetKey} parts={children} show={(part) => <Shown part={part} />} />
      )}
    </div>
  );
}

/** Least height of a row of the grid, in pixels. */
const ROW = 40;

/** The widgets of a dashboard in its grid, by the width that there is. */
export function DashboardLayout() {
  const { content } = usePage();
  const { ref, width } = useElementSize();
  const grid = useMemo(() => gridOf(content.config, width), [content.config, width]);
  const order = useMemo(() => readingOrder(content.config), [content.config]);
  // In the order in which they are read, so that the keyboard and a narrow screen have it too.
  const cells = new Map(grid?.cells.map((cell) => [cell.widgetKey, cell]));
  const style: CSSProperties = grid
    ? { gridTemplateColumns: `repeat(${grid.columns}, minmax(0, 1fr))`, gridAutoRows: `minmax(${ROW}px, auto)` }
    : {};
  return (
    <div ref={ref} className={grid ? 'page-grid' : 'page-column'} style={style}>
      {width > 0 &&
        order.map((widgetKey) => {
          const cell = cells.get(widgetKey);
          const at: CSSProperties = cell
            ? { gridColumn: `${cell.x + 1} / span ${cell.w}`, gridRow: `${cell.y + 1} / span ${cell.h}` }
            : {};
          return (
            <div key={widgetKey} className="page-part" style={at}>
              <Widget widgetKey={widgetKey} />
            </div>
          );
        })}
    </div>
  );
}
