/** Explains from the objects why a pod is captured or not: for `kubectl svc explain` and for the page. */
export { captureSteps, declaredPorts, noMetricsStep, type DeclaredPort } from './capture-steps.ts';
export { firstNo, no, note, unknown, yes } from './step.ts';
