import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { QuotesController } from './quotes.controller';
import { QuotesService } from './quotes.service';

const start = require('../../start');

@Module({ controllers: [QuotesController], providers: [QuotesService] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: false });
  app.setGlobalPrefix('api');
  await app.listen(0, '127.0.0.1');
  start(app.getHttpServer());
}

void main();
