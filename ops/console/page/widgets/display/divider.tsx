import { text, type WidgetProps } from '../page-context.ts';

export function DividerWidget({ properties: { label, direction } }: WidgetProps) {
  if (direction === 'vertical') return <div className="page-divider" data-direction="vertical" />;
  const words = text(label);
  if (words === '') return <hr className="page-divider" />;
  return (
    <div className="page-divider" data-direction="labelled">
      <bdi>{words}</bdi>
    </div>
  );
}
