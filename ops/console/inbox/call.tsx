import { useMemberNames } from '../client/members.ts';
import type { ToolCall } from '../client/tool-approvals.ts';
import type { Tone } from '../ui/status.tsx';

const looks: Record<ToolCall['status'], { word: string; tone: Tone }> = {
  asked: { word: 'Waits', tone: 'wait' },
  ready: { word: 'Approved', tone: 'busy' },
  done: { word: 'Done', tone: 'ok' },
  failed: { word: 'Failed', tone: 'bad' },
  denied: { word: 'Refused', tone: 'idle' },
  expired: { word: 'Expired', tone: 'idle' },
};

export function CallState({ of: { status } }: { of: ToolCall }) {
  const { word, tone } = looks[status];
  return (
    <span className="status" data-tone={tone}>
      {word}
    </span>
  );
}

/** Who asks: a person, or the API key of one. */
export function useCallerName(tenantID: string): (caller: ToolCall['caller']) => string {
  const nameOf = useMemberNames(tenantID);
  return ({ type, id, userID }) =>
    type === 'apiKey' ? `API key ${id.slice(-8)} of ${nameOf(userID)}` : nameOf(userID);
}
