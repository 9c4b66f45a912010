import { createContext, type ReactNode, use, useMemo } from 'react';
import { AnchorContext, useAnchors } from '../../../page/layout/anchors.tsx';
import { Notice } from '../../../ui/notice.tsx';
import type { PageDocument } from '../../document.ts';
import type { Demand } from './may-do.ts';
import { Refusal } from './refusal.tsx';
import { useViewer } from './viewer.tsx';

const RefusedContext = createContext<readonly Demand[]>([]);

/** A page as one sees it with the rights of a role: below each widget stands what would be refused there. */
export function PreviewAs({ document, children }: { document: PageDocument; children: ReactNode }) {
  const { field, canOpen, refused } = useViewer(document, 'As a member with');
  const around = useAnchors();
  const anchors = useMemo(() => ({ ...around, WidgetBox: MarkedWidget }), [around]);
  return (
    <>
      <div className="preview-as">{field}</div>
      {!canOpen && <Notice tone="bad">A member with this role cannot open the page. “Page and data” shares it.</Notice>}
      {canOpen && (
        <AnchorContext value={anchors}>
          <RefusedContext value={refused}>{children}</RefusedContext>
        </AnchorContext>
      )}
    </>
  );
}

function MarkedWidget({ widgetKey, children }: { widgetKey: string; children: ReactNode }) {
  const own = use(RefusedContext).filter(({ widget }) => widget?.key === widgetKey);
  return (
    <>
      {children}
      {own.map((demand, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they have no state
        <p key={at} className="preview-refused">
          Not allowed to such a member: <Refusal of={demand} />
        </p>
      ))}
    </>
  );
}
