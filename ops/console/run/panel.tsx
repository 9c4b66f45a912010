import type { NodeSteps } from '../client/run-steps.ts';
import type { Run } from '../client/types.ts';
import { WorkspacePanel } from '../graph/workspace.tsx';
import type { Graph } from './graph-of.ts';
import { MapItems } from './map-items.tsx';
import { Result } from './result.tsx';
import { StepPanel } from './step-panel.tsx';
import type { Panel } from './use-panel.ts';
import type { StepTab } from './view.ts';

interface Props {
  tenantID: string;
  run: Run;
  nodes: readonly NodeSteps[];
  graph: Graph | undefined;
  panel: Panel;
  tab: StepTab | undefined;
  hasReceiver: boolean;
  onTab: (tab: StepTab | undefined) => void;
  onSelect: (step: string) => void;
}

/** The panel over the right part of the graph: a step of the run, or its input and output. */
export function RunPanel({ panel, hasReceiver, ...props }: Props) {
  const { tenantID, run, graph, tab } = props;
  const { step, isResult, close } = panel;
  if (step !== undefined)
    return (
      <WorkspacePanel label="Step" isBroad={tab === 'input'}>
        <StepPanel {...props} selected={step} onClose={close}>
          <MapItems tenantID={tenantID} run={run} graph={graph} step={step} />
        </StepPanel>
      </WorkspacePanel>
    );
  if (!isResult) return null;
  return (
    <WorkspacePanel label="Input and output">
      <Result tenantID={tenantID} run={run} hasReceiver={hasReceiver} onClose={close} />
    </WorkspacePanel>
  );
}
