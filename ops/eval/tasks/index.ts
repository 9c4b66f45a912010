import type { Task } from '../task.ts';
import { adminTasks } from './admin.ts';
import { buildTasks } from './build.ts';
import { dataTasks } from './data.ts';
import { runTasks } from './runs.ts';

/** Things that people ask of agents, each with its check. */
export const tasks: readonly Task[] = [...runTasks, ...dataTasks, ...buildTasks, ...adminTasks];
