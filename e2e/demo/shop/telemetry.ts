/**
 * Real instrumentation of the demo's services: the OpenTelemetry Node SDK measures their HTTP traffic and sends
 * OTLP to the node's instrument stand-in. Where the eBPF instrument runs, this file is not needed.
 * Environment: OTEL_EXPORTER_OTLP_ENDPOINT, and the pod's identity by the downward API.
 */
import type * as nodeHttp from 'node:http';
import { createRequire } from 'node:module';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK, resources, tracing } from '@opentelemetry/sdk-node';

process.env['OTEL_SEMCONV_STABILITY_OPT_IN'] = 'http';

const env = (name: string): string => process.env[name] ?? '';

const sdk = new NodeSDK({
  resource: resources.resourceFromAttributes({
    'service.name': env('OTEL_SERVICE_NAME'),
    'k8s.namespace.name': env('POD_NAMESPACE'),
    'k8s.pod.name': env('POD_NAME'),
    'k8s.container.name': env('CONTAINER_NAME'),
    'svc.demo.port': Number(env('PORT')),
  }),
  autoDetectResources: false,
  instrumentations: [new HttpInstrumentation()],
  metricReader: new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ timeoutMillis: 1_500 }),
    exportIntervalMillis: 2_000,
    exportTimeoutMillis: 1_900,
  }),
  spanProcessors: [
    new tracing.BatchSpanProcessor(new OTLPTraceExporter({ timeoutMillis: 1_500 }), { scheduledDelayMillis: 1_000 }),
  ],
});
sdk.start();

/** `node:http`, loaded after the SDK so that it is the instrumented one. */
export const http = createRequire(import.meta.url)('node:http') as typeof nodeHttp;
export const shutdownTelemetry = (): Promise<void> => sdk.shutdown();
