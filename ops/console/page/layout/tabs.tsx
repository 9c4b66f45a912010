import type { ReactNode } from 'react';
import { useExposed, usePage } from '../widgets/page-context.ts';
import { useAnchors } from './anchors.tsx';
import type { Part } from './tree.ts';

/** Parts below a widget with tabs: those that name no tab, and those of the tab that is open. */
export function TabParts({
  widgetKey,
  parts,
  show,
}: {
  widgetKey: string;
  parts: readonly Part[];
  show: (part: Part) => ReactNode;
}) {
  const page = usePage();
  const { PartBox } = useAnchors();
  const { activeTab } = useExposed(page, widgetKey);
  return (
    <div className="page-column">
      {parts
        .filter(({ tab }) => tab === undefined || tab === activeTab)
        .map((part) => (
          <PartBox key={part.id} part={part}>
            {show(part)}
          </PartBox>
        ))}
    </div>
  );
}
