/**
 * The console in a real browser, on the real API and a worker: its flows, and every page at two widths in both colour schemes. Here
 * workflows are built, tested and run; the other pages are in console-assets.test.ts.
 */
import { assistantTests } from './browser/assistant.ts';
import { batchTests } from './browser/batches.ts';
import { buildingTests } from './browser/building.ts';
import { inputTests } from './browser/inputs.ts';
import { onStage } from './browser/on-stage.ts';
import { pickerTests } from './browser/pickers.ts';
import { questionTests } from './browser/questions.ts';
import { runPageTests } from './browser/run-page.ts';
import { runTests } from './browser/runs.ts';
import { templateTests } from './browser/templates.ts';
import { testingTests } from './browser/testing.ts';
import { valueTests } from './browser/values.ts';
import { workflowTests } from './browser/workflows.ts';

await onStage('console', {
  runs: runTests,
  'the page of a run': runPageTests,
  batches: batchTests,
  questions: questionTests,
  workflows: workflowTests,
  templates: templateTests,
  building: buildingTests,
  testing: testingTests,
  pickers: pickerTests,
  inputs: inputTests,
  values: valueTests,
  'the assistant': assistantTests,
});
