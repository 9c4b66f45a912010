import { number, text, type WidgetProps } from '../page-context.ts';

export function ProgressWidget({ title, properties: { value, max, label, form } }: WidgetProps) {
  const most = Math.max(number(max) ?? 100, Number.MIN_VALUE);
  const now = Math.min(Math.max(number(value) ?? 0, 0), most);
  const name = text(label, title);
  const percent = Math.round((now / most) * 100);
  const shown = {
    role: 'progressbar',
    'aria-label': name,
    'aria-valuenow': percent,
    'aria-valuemin': 0,
    'aria-valuemax': 100,
  };
  return (
    <div className="page-progress">
      <div className="words">
        <bdi>{name}</bdi> <span>{percent} %</span>
      </div>
      {form === 'circle' ? (
        <div {...shown}>
          <svg viewBox="0 0 36 36" width="72" height="72" aria-hidden="true">
            <circle className="track" cx="18" cy="18" r="15.9" pathLength="100" />
            <circle className="done" cx="18" cy="18" r="15.9" pathLength="100" strokeDasharray={`${percent} 100`} />
          </svg>
        </div>
      ) : (
        <div {...shown} className="bar-track">
          <div style={{ width: `${percent}%` }} />
        </div>
      )}
    </div>
  );
}
