/**
 * Real instrumentation of the demo's services: OpenTelemetry's HTTP instrumentation measures their traffic and sends
 * OTLP to the program that stands in for the eBPF instrument on the node. Where the real eBPF instrument runs, this
 * file is not needed.
 * OpenTelemetry's parts are put together here, because its package for Node.js (`sdk-node`) loads every exporter there
 * is, which doubles the CPU time of a pod's start. Environment: OTEL_EXPORTER_OTLP_ENDPOINT, and the pod's identity by
 * the downward API.
 */
import type * as nodeHttp from 'node:http';
import { createRequire } from 'node:module';
import { context, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

process.env['OTEL_SEMCONV_STABILITY_OPT_IN'] = 'http';

const env = (name: string): string => process.env[name] ?? '';

const resource = resourceFromAttributes({
  'service.name': env('OTEL_SERVICE_NAME'),
  'k8s.namespace.name': env('POD_NAMESPACE'),
  'k8s.pod.name': env('POD_NAME'),
  'k8s.container.name': env('CONTAINER_NAME'),
  'svc.demo.port': Number(env('PORT')),
});
const meters = new MeterProvider({
  resource,
  readers: [
    new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter({ timeoutMillis: 1_500 }),
      exportIntervalMillis: 2_000,
      exportTimeoutMillis: 1_900,
    }),
  ],
});
const tracers = new BasicTracerProvider({
  resource,
  spanProcessors: [
    new BatchSpanProcessor(new OTLPTraceExporter({ timeoutMillis: 1_500 }), { scheduledDelayMillis: 1_000 }),
  ],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
const instrumentation = new HttpInstrumentation();
instrumentation.setMeterProvider(meters);
instrumentation.setTracerProvider(tracers);

/** `node:http`, loaded after the instrumentation so that it is the instrumented one. */
export const http = createRequire(import.meta.url)('node:http') as typeof nodeHttp;
export const shutdownTelemetry = (): Promise<unknown> => Promise.all([meters.shutdown(), tracers.shutdown()]);
